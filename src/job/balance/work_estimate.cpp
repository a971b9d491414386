// SPDX-License-Identifier: Apache-2.0
#include "job/balance/work_estimate.hpp"

#include "partition/plan_access.hpp"

#include <algorithm>
#include <cmath>

namespace tessera::inline TESSERA_ABI {
namespace {

/// A clock may not have advanced during a short part.
constexpr double least_seconds = 1e-9;

/// A plan is not what was expected if its slowest part takes longer by this factor.
constexpr double unexpected = 1.1;

/// The exponent of the new estimate in the mean of both. In a simulation of work that grows by powers up to
/// the fifth, plans settle with this one where speeds are wrong by a factor of two, and mostly by four.
constexpr double trust = 0.6;

}  // namespace

std::vector<PlanPart> parts_of(const Plan& plan, const Speeds& speeds) {
  std::vector<PlanPart> parts;
  if (speeds.on_devices) {
    for (const PlannedTile& tile : plan.tiles()) {
      const auto device = speeds.rank_offsets[static_cast<std::size_t>(tile.rank)] + tile.device;
      // All scores are zero if a device with the score 0 has a tile.
      const std::uint64_t score = speeds.scores[static_cast<std::size_t>(device)];
      parts.push_back({tile.units, score > 0 ? static_cast<double>(score) : 1});
    }
  } else {
    for (int rank = 0; rank < plan.ranks(); ++rank) {
      const Range units = plan.range_of(rank);
      if (!units.empty())
        parts.push_back({units, static_cast<double>(speeds.threads[static_cast<std::size_t>(rank)])});
    }
  }
  return parts;
}

WorkEstimate::Runs WorkEstimate::measured(std::span<const PlanPart> parts, std::span<const double> seconds) {
  Runs runs;
  runs.reserve(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const double work = std::max(seconds[i], least_seconds) * parts[i].speed;
    runs.push_back({parts[i].units, work / static_cast<double>(parts[i].units.size())});
  }
  return runs;
}

/// The mean of both, of the total of `now`.
WorkEstimate::Runs WorkEstimate::between(const Runs& before, const Runs& now) {
  Runs mean;
  double total = 0;
  double total_now = 0;
  auto old = before.begin();
  for (const Run& run : now) {
    for (std::int64_t unit = run.units.begin; unit < run.units.end; unit = mean.back().units.end) {
      while (old->units.end <= unit) ++old;
      const Range both{unit, std::min(old->units.end, run.units.end)};
      mean.push_back({both, std::pow(old->each, 1 - trust) * std::pow(run.each, trust)});
      total += mean.back().each * static_cast<double>(both.size());
      total_now += run.each * static_cast<double>(both.size());
    }
  }
  for (Run& run : mean) run.each *= total_now / total;
  return mean;
}

/// The time of the slowest of `parts`, of the same units as the runs.
double WorkEstimate::slowest(std::span<const PlanPart> parts) const {
  double slowest = 0;
  auto run = runs_.begin();
  for (const PlanPart& part : parts) {
    double work = 0;
    for (std::int64_t unit = part.units.begin; unit < part.units.end;) {
      while (run->units.end <= unit) ++run;
      const std::int64_t end = std::min(run->units.end, part.units.end);
      work += run->each * static_cast<double>(end - unit);
      unit = end;
    }
    slowest = std::max(slowest, work / part.speed);
  }
  return slowest;
}

BalancedPlan WorkEstimate::balance(const Plan& plan, const Speeds& speeds, std::span<const double> seconds) {
  if (seconds.empty()) return {plan};
  const auto parts = parts_of(plan, speeds);
  const double took = std::max(*std::ranges::max_element(seconds), least_seconds);
  const bool swings = !runs_.empty() && took > unexpected * expected_;
  runs_ = swings ? between(runs_, measured(parts, seconds)) : measured(parts, seconds);
  std::vector<detail::CostRun> costs;
  costs.reserve(runs_.size());
  for (const Run& run : runs_) costs.push_back({run.each, (run.units.size() - 1) / plan.block() + 1});
  const detail::BlockWeights weights(std::move(costs));
  BalancedPlan other{
      speeds.on_devices
          ? detail::PlanAccess::over_devices(plan.units(), plan.block(), speeds.scores, speeds.rank_offsets,
                                             weights)
          : detail::PlanAccess::over_hosts(plan.units(), plan.block(), speeds.threads, weights)};
  expected_ = slowest(parts_of(other.plan, speeds));
  other.gain = took / expected_;
  return other;
}

}  // namespace tessera::inline TESSERA_ABI

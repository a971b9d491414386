// SPDX-License-Identifier: Apache-2.0
#include "job/balance/measured_parts.hpp"

#include "partition/plan_access.hpp"

#include <algorithm>

namespace tessera::inline TESSERA_ABI {
namespace {

/// A clock may not have advanced during a short part.
constexpr double least_seconds = 1e-9;

/// Units of the work `each`: seconds times speed.
struct WorkRun {
  Range units;
  double each = 0;
};

std::vector<WorkRun> work_of(std::span<const PlanPart> parts, std::span<const double> seconds) {
  std::vector<WorkRun> runs;
  runs.reserve(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const double work = std::max(seconds[i], least_seconds) * parts[i].speed;
    runs.push_back({parts[i].units, work / static_cast<double>(parts[i].units.size())});
  }
  return runs;
}

/// The time of the slowest of `parts`. Both lists cover the same units, in order.
double slowest_of(std::span<const PlanPart> parts, std::span<const WorkRun> runs) {
  double slowest = 0;
  auto run = runs.begin();
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

BalancedPlan balanced(const Plan& plan, const Speeds& speeds, std::span<const double> seconds) {
  const auto parts = parts_of(plan, speeds);
  const auto runs = work_of(parts, seconds);
  std::vector<detail::CostRun> costs;
  costs.reserve(runs.size());
  for (const WorkRun& run : runs) {
    const std::int64_t blocks = (run.units.size() - 1) / plan.block() + 1;
    costs.push_back({run.each, blocks});
  }
  const detail::BlockWeights weights(std::move(costs));
  BalancedPlan other{
      speeds.on_devices
          ? detail::PlanAccess::over_devices(plan.units(), plan.block(), speeds.scores, speeds.rank_offsets,
                                             weights)
          : detail::PlanAccess::over_hosts(plan.units(), plan.block(), speeds.threads, weights)};
  other.gain = slowest_of(parts, runs) / slowest_of(parts_of(other.plan, speeds), runs);
  return other;
}

}  // namespace tessera::inline TESSERA_ABI

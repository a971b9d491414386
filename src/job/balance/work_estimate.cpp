// SPDX-License-Identifier: Apache-2.0
#include "job/balance/work_estimate.hpp"

#include "partition/plan_access.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

namespace TESSERA_NAMESPACE {
namespace {

/// Lower limit of times, because the clock may not advance during a short part.
constexpr double least_seconds = 1e-9;

constexpr std::size_t most_plans = 8;

/// A ratio of two times above this value is not noise.
constexpr double noisy = 1.03;

/// Times of the last plan are ignored as a repetition unless a device's share of the work changes by this
/// factor.
constexpr double repeated = 1.01;

/// The work of units counts as changed if a device's share under the same plan changes by this factor.
constexpr double changed = 1.25;

double longest(std::span<const double> seconds) {
  return std::max(*std::ranges::max_element(seconds), least_seconds);
}

/// The longest time divided by the mean over all devices, including devices without a part.
double imbalance_of(std::span<const double> seconds, const Speeds& speeds) {
  const auto devices = std::ranges::count_if(speeds.declared(), [](double speed) { return speed > 0; });
  const double sum = std::max(std::reduce(seconds.begin(), seconds.end()), least_seconds);
  return longest(seconds) * static_cast<double>(devices) / sum;
}

/// Whether a device's share of the work differs by `factor` between two measurements of one plan.
bool differs(const MeasuredPlan& before, const MeasuredPlan& now, double factor) {
  const auto total = [](const MeasuredPlan& plan) {
    double sum = 0;
    for (const MeasuredPart& part : plan) sum += part.work;
    return sum;
  };
  const double scale = total(now) / total(before);
  for (std::size_t i = 0; i < now.size(); ++i) {
    const double ratio = now[i].work / (before[i].work * scale);
    if (ratio > factor || ratio * factor < 1) return true;
  }
  return false;
}

/// Scales speeds to integers up to `largest`; positive speeds stay positive.
template <class Integer>
std::vector<Integer> integers(const std::vector<double>& speeds, Integer largest) {
  const double scale = static_cast<double>(largest) / *std::ranges::max_element(speeds);
  std::vector<Integer> scaled;
  scaled.reserve(speeds.size());
  for (const double speed : speeds)
    scaled.push_back(speed > 0 ? std::max<Integer>(1, static_cast<Integer>(speed * scale)) : 0);
  return scaled;
}

}  // namespace

std::vector<double> Speeds::declared() const {
  if (!on_devices) return {threads.begin(), threads.end()};
  std::vector<double> speeds(scores.begin(), scores.end());
  if (std::ranges::all_of(speeds, [](double speed) { return speed == 0; })) std::ranges::fill(speeds, 1.0);
  return speeds;
}

std::vector<PlanPart> parts_of(const Plan& plan, const Speeds& speeds) {
  std::vector<PlanPart> parts;
  if (speeds.on_devices) {
    for (const PlannedTile& tile : plan.tiles())
      parts.push_back(
          {tile.units,
           static_cast<std::size_t>(speeds.rank_offsets[static_cast<std::size_t>(tile.rank)] + tile.device)});
  } else {
    for (int rank = 0; rank < plan.ranks(); ++rank) {
      const Range units = plan.range_of(rank);
      if (!units.empty()) parts.push_back({units, static_cast<std::size_t>(rank)});
    }
  }
  return parts;
}

/// Adds the measured times of a plan. Returns false if they only repeat the last times of the same plan. If
/// the work has changed, drops the times of all other plans.
bool WorkEstimate::take(const Plan& plan, const Speeds& speeds, std::span<const double> seconds) {
  Measured now{plan.fingerprint(), {}};
  const std::vector<double> declared = speeds.declared();
  for (const PlanPart& part : parts_of(plan, speeds))  // a plan may use a device with score 0
    now.parts.push_back(
        {part.units, part.device,
         std::max(seconds[now.parts.size()], least_seconds) * std::max(declared[part.device], 1.0)});
  const auto before = std::ranges::find(measured_, now.plan, &Measured::plan);
  if (before != measured_.end()) {
    if (last_ && before + 1 == measured_.end() && !differs(before->parts, now.parts, repeated)) return false;
    if (differs(before->parts, now.parts, changed))
      measured_.clear();
    else
      measured_.erase(before);
  }
  measured_.push_back(std::move(now));
  if (measured_.size() > most_plans) measured_.pop_front();
  return true;
}

double WorkEstimate::work_of(Range units) const {
  double work = 0;
  auto run =
      std::ranges::upper_bound(model_.runs, units.begin, {}, [](const WorkRun& r) { return r.units.end; });
  for (std::int64_t unit = units.begin; unit < units.end; unit = run++->units.end)
    work += run->each * static_cast<double>(std::min(run->units.end, units.end) - unit);
  return work;
}

/// An upper bound of the work of `units`: each unit counts as much as the most expensive unit within a
/// distance of `units.size()`.
double WorkEstimate::most_work_of(Range units) const {
  if (units.empty()) return 0;
  const Range near{units.begin - units.size(), units.end + units.size()};
  double most = 0;
  auto run =
      std::ranges::upper_bound(model_.runs, near.begin, {}, [](const WorkRun& r) { return r.units.end; });
  for (; run != model_.runs.end() && run->units.begin < near.end; ++run) most = std::max(most, run->each);
  return most * static_cast<double>(units.size());
}

std::vector<double> WorkEstimate::expected(const Plan& plan, const Speeds& speeds) const {
  std::vector<double> seconds;
  const std::vector<double> declared = speeds.declared();
  for (const PlanPart& part : parts_of(plan, speeds))
    seconds.push_back(work_of(part.units) / (declared[part.device] * model_.factors[part.device]));
  return seconds;
}

double WorkEstimate::longest_at_worst(const Plan& from, const Plan& to, const Speeds& speeds) const {
  const std::vector<double> declared = speeds.declared();
  std::vector<Range> had(declared.size());
  for (const PlanPart& part : parts_of(from, speeds)) had[part.device] = part.units;
  double longest = 0;
  for (const PlanPart& part : parts_of(to, speeds)) {
    const Range kept{std::clamp(had[part.device].begin, part.units.begin, part.units.end),
                     std::clamp(had[part.device].end, part.units.begin, part.units.end)};
    const double work = most_work_of({part.units.begin, kept.begin}) + work_of(kept) +
                        most_work_of({kept.end, part.units.end});
    longest = std::max(longest, work / (declared[part.device] * model_.factors[part.device]));
  }
  return longest;
}

std::optional<Plan> WorkEstimate::plan_over(const Speeds& speeds, const Plan& plan) const {
  if (model_.runs.empty()) return std::nullopt;
  std::vector<detail::CostRun> costs;
  costs.reserve(model_.runs.size());
  for (const WorkRun& run : model_.runs)
    costs.push_back({run.each, (run.units.size() - 1) / plan.block() + 1});
  const detail::BlockWeights weights(std::move(costs));
  std::vector<double> learned = speeds.declared();
  for (std::size_t device = 0; device < learned.size(); ++device) learned[device] *= model_.factors[device];
  if (!speeds.on_devices)
    return detail::PlanAccess::over_hosts(plan.units(), plan.block(),
                                          integers(learned, std::numeric_limits<int>::max()), weights);
  // The sum of the integers is below 2^64. Tiles are ordered by the declared scores, so that devices of
  // similar speed do not swap units.
  const int bits = std::min(40, 62 - static_cast<int>(std::bit_width(learned.size())));
  return detail::PlanAccess::over_devices(plan.units(), plan.block(),
                                          integers(learned, std::uint64_t{1} << bits), speeds.rank_offsets,
                                          weights, speeds.scores);
}

BalancedPlan WorkEstimate::balance(const Plan& plan, const Speeds& speeds, std::span<const double> seconds) {
  if (seconds.empty()) return {plan};
  if (!take(plan, speeds, seconds)) return *last_;
  std::vector<MeasuredPlan> plans;
  for (const Measured& measured : measured_) plans.push_back(measured.parts);
  model_ = fit_work(plans, speeds.declared().size(), plan.block());
  BalancedPlan other{*plan_over(speeds, plan)};
  const std::vector<double> then = expected(other.plan, speeds);
  const auto gain_over = [&](std::span<const double> now) {
    return std::max(longest(now) / longest(then), imbalance_of(now, speeds) / imbalance_of(then, speeds));
  };
  other.gain = std::min(gain_over(seconds), gain_over(expected(plan, speeds)));
  other.certain = longest_at_worst(plan, other.plan, speeds) * noisy <= longest(seconds);
  last_ = other;
  return other;
}

std::optional<CoarsePart> WorkEstimate::coarse_part(const Plan& plan, const Speeds& speeds,
                                                    std::span<const double> seconds, double tolerated) {
  if (seconds.empty()) return std::nullopt;
  const double imbalance = imbalance_of(seconds, speeds);
  if (imbalance <= tolerated) return std::nullopt;
  std::vector<std::int64_t> blocks(speeds.declared().size(), 0);
  for (const PlanPart& part : parts_of(plan, speeds))
    blocks[part.device] = (part.units.size() - 1) / plan.block() + 1;
  std::optional<CoarsePart> coarse;
  const std::vector<double> declared = speeds.declared();
  for (std::size_t device = 0; device < blocks.size(); ++device) {
    const std::int64_t fewest = coarse ? coarse->blocks : enough_blocks;
    if (declared[device] > 0 && blocks[device] < fewest)
      coarse = CoarsePart{device, blocks[device], imbalance};
  }
  return coarse;
}

}  // namespace TESSERA_NAMESPACE

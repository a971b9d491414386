// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job/balance/work_model.hpp"

#include <tessera/partition/plan.hpp>
#include <tessera/version.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE {

/// The declared speeds of a job's devices if `on_devices`, else of its hosts.
struct Speeds {
  bool on_devices = false;
  std::vector<std::uint64_t> scores;
  std::vector<std::int64_t> rank_offsets;  ///< see `Plan::over_devices`
  std::vector<int> threads;                ///< host threads of each rank

  /// Speeds of all devices (all 1 if all scores are 0) or of all hosts.
  [[nodiscard]] std::vector<double> declared() const;
};

/// The part of a plan on one device or host.
struct PlanPart {
  Range units;
  std::size_t device = 0;  ///< the device's index in `Speeds`

  friend bool operator==(const PlanPart&, const PlanPart&) = default;
};

/// The non-empty parts of `plan`, in the order of their units.
[[nodiscard]] std::vector<PlanPart> parts_of(const Plan& plan, const Speeds& speeds);

/// A plan balanced by measured times, with its expected gain.
struct BalancedPlan {
  Plan plan;
  /// Expected speedup: the longest time of a device now, divided by the longest predicted time under `plan`.
  /// The larger of two ratios: of times in seconds, and of times relative to the mean of all devices. The
  /// longest time now is taken both as measured and as predicted: the smaller speedup counts.
  double gain = 1;
  /// True if no part becomes slower than the slowest part now, even if each gained unit costs as much as the
  /// most expensive unit nearby.
  bool certain = true;
};

/// A device whose blocks are too few to balance the load.
struct CoarsePart {
  std::size_t device = 0;
  std::int64_t blocks = 0;
  double imbalance = 1;  ///< longest time of a device divided by the mean
};

/// Estimates the work of units and the speeds of devices from times under several plans.
class WorkEstimate {
 public:
  /// In a part of this many blocks, one block is 0.5 %, and the error of rounding to blocks at most 0.25 %.
  static constexpr std::int64_t enough_blocks = 200;

  /// A plan of `plan`'s units with equal predicted times on all devices. `seconds` are the times of
  /// `parts_of(plan, speeds)`. Cost: O(devices), some milliseconds for ten devices (`fit_work`).
  [[nodiscard]] BalancedPlan balance(const Plan& plan, const Speeds& speeds, std::span<const double> seconds);

  /// A plan of the same units over the devices of `speeds`, for example after an exclusion; empty without
  /// estimates.
  [[nodiscard]] std::optional<Plan> plan_over(const Speeds& speeds, const Plan& plan) const;

  /// The device with the fewest blocks, if these are fewer than `enough_blocks` and the imbalance exceeds
  /// `tolerated`; else empty.
  [[nodiscard]] static std::optional<CoarsePart> coarse_part(const Plan& plan, const Speeds& speeds,
                                                             std::span<const double> seconds,
                                                             double tolerated);

 private:
  [[nodiscard]] bool take(const Plan& plan, const Speeds& speeds, std::span<const double> seconds);
  [[nodiscard]] double work_of(Range units) const;
  [[nodiscard]] double most_work_of(Range units) const;
  [[nodiscard]] std::vector<double> expected(const Plan& plan, const Speeds& speeds) const;
  [[nodiscard]] double longest_at_worst(const Plan& from, const Plan& to, const Speeds& speeds) const;

  struct Measured {
    std::uint64_t plan = 0;  ///< fingerprint of the plan
    MeasuredPlan parts;
  };
  std::deque<Measured> measured_;  ///< latest times of the last plans, newest last
  WorkModel model_;
  std::optional<BalancedPlan> last_;  ///< cache: the plan balanced by `measured_`
};

}  // namespace TESSERA_NAMESPACE

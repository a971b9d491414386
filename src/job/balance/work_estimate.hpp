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
  std::vector<std::uint64_t> scores;       ///< scores of all devices, by rank and index
  std::vector<std::int64_t> rank_offsets;  ///< first device of each rank, as `Plan::over_devices` takes them
  std::vector<int> threads;                ///< host threads of each rank

  /// The declared speeds of all devices, or of all hosts; 1 for each if all are 0.
  [[nodiscard]] std::vector<double> declared() const;
};

/// The part of a plan on one device or host.
struct PlanPart {
  Range units;
  std::size_t device = 0;  ///< the device's index in `Speeds`

  friend bool operator==(const PlanPart&, const PlanPart&) = default;
};

/// The parts of `plan` that are not empty, in the order of their units.
[[nodiscard]] std::vector<PlanPart> parts_of(const Plan& plan, const Speeds& speeds);

/// A plan balanced by measured times, and the gain expected of it.
struct BalancedPlan {
  Plan plan;
  /// Expected speedup: the ratio of the slowest device's time now to its predicted time under `plan`, in
  /// seconds or relative to the mean of all devices, whichever ratio is larger.
  double gain = 1;
  /// True if no part can become slower than the slowest part now, even if the units that a device gains are
  /// as expensive as the most expensive ones near them.
  bool certain = true;
};

/// A device with too few blocks for an even division.
struct CoarsePart {
  std::size_t device = 0;
  std::int64_t blocks = 0;
  double imbalance = 1;  ///< the longest time of a device divided by the mean of all
};

/// Estimates the work of units and the speeds of devices from the times of parts under several plans.
class WorkEstimate {
 public:
  /// With this many blocks in a part, the block size changes its time by at most a quarter of a per cent.
  static constexpr std::int64_t enough_blocks = 200;

  /// A plan of `plan`'s units with equal predicted times on all devices. `seconds` are the times of
  /// `parts_of(plan, speeds)`. Cost: O(devices), some milliseconds for ten devices (`fit_work`).
  [[nodiscard]] BalancedPlan balance(const Plan& plan, const Speeds& speeds, std::span<const double> seconds);

  /// A plan of `plan`'s units over devices of `speeds` by the current estimates, for example after devices
  /// were excluded; none without estimates.
  [[nodiscard]] std::optional<Plan> plan_over(const Speeds& speeds, const Plan& plan) const;

  /// The device with the fewest blocks, if it has fewer than `enough_blocks` and the imbalance exceeds
  /// `tolerated`.
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
  std::deque<Measured> measured_;  ///< the last plans with their latest times, newest last
  WorkModel model_;
  std::optional<BalancedPlan> last_;  ///< the last plan balanced by `measured_`
};

}  // namespace TESSERA_NAMESPACE

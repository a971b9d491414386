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

/// The declared speeds of a job's hardware: of its devices, or, if `on_devices` is false, of its hosts.
struct Speeds {
  bool on_devices = false;
  std::vector<std::uint64_t> scores;       ///< of all devices, by rank and index
  std::vector<std::int64_t> rank_offsets;  ///< of each rank's devices, as `Plan::over_devices` takes them
  std::vector<int> threads;                ///< of each rank's host

  /// Those of all devices, or of all hosts; ones if all are 0.
  [[nodiscard]] std::vector<double> declared() const;
};

/// What a plan gives to one device or host.
struct PlanPart {
  Range units;
  std::size_t device = 0;  ///< its index in `Speeds`

  friend bool operator==(const PlanPart&, const PlanPart&) = default;
};

/// The parts of `plan` that are not empty, in the order of their units.
[[nodiscard]] std::vector<PlanPart> parts_of(const Plan& plan, const Speeds& speeds);

/// A plan by measured times, and what is expected of it.
struct BalancedPlan {
  Plan plan;
  /// The factor by which the slowest part is expected to be faster, or faster in proportion to the mean of
  /// all devices, whichever is larger.
  double gain = 1;
  /// No part takes longer than the slowest does now, even if the units that a device gains are as much work
  /// as any near them.
  bool certain = true;
};

/// A device that has too few blocks for its part to be cut well.
struct CoarsePart {
  std::size_t device = 0;
  std::int64_t blocks = 0;
  double imbalance = 1;  ///< the longest time of a device by the mean of all
};

/// The work of units and the speeds of devices, as the times of parts under several plans have shown them.
class WorkEstimate {
 public:
  /// Blocks by which a part is cut to a quarter of a per cent.
  static constexpr std::int64_t enough_blocks = 200;

  /// A plan of `plan`'s units that gives every device the same time. `seconds` are the times of
  /// `parts_of(plan, speeds)`. Cost: O(devices), some milliseconds for ten (`fit_work`).
  [[nodiscard]] BalancedPlan balance(const Plan& plan, const Speeds& speeds, std::span<const double> seconds);

  /// A plan of `plan`'s units over devices of `speeds` by what is known, as after the exclusion of some; none
  /// if nothing is.
  [[nodiscard]] std::optional<Plan> plan_over(const Speeds& speeds, const Plan& plan) const;

  /// The device with the fewest blocks, if these are not enough and the times differ by more than
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
    std::uint64_t plan = 0;  ///< its fingerprint
    MeasuredPlan parts;
  };
  std::deque<Measured> measured_;  ///< the last plans, each with its last times; the newest last
  WorkModel model_;
  std::optional<BalancedPlan> last_;  ///< by these
};

}  // namespace TESSERA_NAMESPACE

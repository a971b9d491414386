// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/partition/plan.hpp>
#include <tessera/version.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace tessera::inline TESSERA_ABI {

/// The speeds of a job's hardware: of its devices, or, if `on_devices` is false, of its hosts.
struct Speeds {
  bool on_devices = false;
  std::vector<std::uint64_t> scores;       ///< of all devices, by rank and index
  std::vector<std::int64_t> rank_offsets;  ///< of each rank's devices, as `Plan::over_devices` takes them
  std::vector<int> threads;                ///< of each rank's host
};

/// What a plan gives to one device or host.
struct PlanPart {
  Range units;
  double speed = 1;

  friend bool operator==(const PlanPart&, const PlanPart&) = default;
};

/// The parts of `plan` that are not empty, in the order of their units.
[[nodiscard]] std::vector<PlanPart> parts_of(const Plan& plan, const Speeds& speeds);

/// A plan by measured times, and the factor by which its slowest part is expected to be faster.
struct BalancedPlan {
  Plan plan;
  double gain = 1;
};

/// The work of units, as the times of parts have shown it so far.
class WorkEstimate {
 public:
  /// A plan of `plan`'s units that gives every part the same time. `seconds` are the times of
  /// `parts_of(plan, speeds)`.
  ///
  /// A part is taken to have done work of its time by its speed, in equal parts by its units. That is wrong
  /// where units of a part differ, or where its speed is not the one given: then the slowest part takes
  /// longer than expected under the plan that was returned, and the next plan moves only a part of the way,
  /// by the geometric mean of the work that was estimated before and the new one, lest it swing.
  [[nodiscard]] BalancedPlan balance(const Plan& plan, const Speeds& speeds, std::span<const double> seconds);

 private:
  /// Units of the work `each`: seconds times speed.
  struct Run {
    Range units;
    double each = 0;
  };
  using Runs = std::vector<Run>;  // over all units, in their order

  [[nodiscard]] static Runs measured(std::span<const PlanPart> parts, std::span<const double> seconds);
  [[nodiscard]] static Runs between(const Runs& before, const Runs& now);
  [[nodiscard]] double slowest(std::span<const PlanPart> parts) const;

  Runs runs_;
  double expected_ = 0;  ///< seconds of the slowest part under the last plan that was returned
};

}  // namespace tessera::inline TESSERA_ABI

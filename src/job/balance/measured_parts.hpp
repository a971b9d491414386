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

/// `seconds` are the times of `parts_of(plan, speeds)`.
[[nodiscard]] BalancedPlan balanced(const Plan& plan, const Speeds& speeds, std::span<const double> seconds);

}  // namespace tessera::inline TESSERA_ABI

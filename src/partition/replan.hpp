// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "partition/plan_access.hpp"

#include <tessera/partition/plan.hpp>
#include <tessera/version.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::detail {

struct RemainingDevices {
  std::vector<std::uint64_t> scores;       ///< scores of all devices, by rank and index
  std::vector<std::int64_t> rank_offsets;  ///< first device of each rank, as for `Plan::over_devices`
  std::vector<bool> excluded;              ///< whether the device of each score is excluded

  [[nodiscard]] bool is_excluded(const PlannedTile& tile) const {
    return excluded[static_cast<std::size_t>(rank_offsets[static_cast<std::size_t>(tile.rank)] +
                                             tile.device)];
  }
};

/// The scores, with zeros for excluded devices. If all are zero, remaining devices get ones.
[[nodiscard]] std::vector<std::uint64_t> remaining_scores(std::span<const std::uint64_t> scores,
                                                          const std::vector<bool>& excluded);

[[nodiscard]] bool uses_excluded(const Plan& plan, const RemainingDevices& devices);
/// The lowest rank that has units in `plan` but no remaining device.
[[nodiscard]] std::optional<int> rank_without_device(const Plan& plan, const RemainingDevices& devices);

/// Moves the units of excluded devices to the remaining devices of the same rank. Ranks without excluded
/// devices keep their tiles. Every rank with units must have a remaining device.
[[nodiscard]] inline Plan recut(const Plan& plan, const RemainingDevices& devices) {
  return PlanAccess::recut(plan, devices);
}
/// A new plan of the same units and blocks over all remaining devices (at least one). Units may change ranks.
///
/// If all blocks have equal weight, `recut` and `replanned` keep it. Other weights are not stored in a plan:
/// both functions then assume that a tile's weight is its device's score, divided equally among its blocks.
[[nodiscard]] inline Plan replanned(const Plan& plan, const RemainingDevices& devices) {
  return PlanAccess::replanned(plan, devices);
}

}  // namespace TESSERA_NAMESPACE::detail

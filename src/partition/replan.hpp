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

/// The devices of a job, some of them excluded.
struct RemainingDevices {
  std::vector<std::uint64_t> scores;       ///< scores of all devices, by rank and index
  std::vector<std::int64_t> rank_offsets;  ///< first device of each rank, as for `Plan::over_devices`
  std::vector<bool> excluded;              ///< whether the device of each score is excluded

  [[nodiscard]] bool is_excluded(const PlannedTile& tile) const {
    return excluded[static_cast<std::size_t>(rank_offsets[static_cast<std::size_t>(tile.rank)] +
                                             tile.device)];
  }
};

/// The scores, with zeros for excluded devices. If all other scores are zero too, these become ones.
[[nodiscard]] std::vector<std::uint64_t> remaining_scores(std::span<const std::uint64_t> scores,
                                                          const std::vector<bool>& excluded);

/// True if a tile of `plan` belongs to an excluded device.
[[nodiscard]] bool uses_excluded(const Plan& plan, const RemainingDevices& devices);
/// The lowest rank that has units by `plan` but no device left.
[[nodiscard]] std::optional<int> rank_without_device(const Plan& plan, const RemainingDevices& devices);

/// `plan` without excluded devices, whose units go to the other devices of their ranks. Every rank keeps its
/// units; a rank without excluded devices keeps its tiles. Every rank with units must have a device left.
[[nodiscard]] inline Plan recut(const Plan& plan, const RemainingDevices& devices) {
  return PlanAccess::recut(plan, devices);
}
/// A plan of the same units and blocks over all remaining devices (at least one); units may change ranks.
///
/// If all blocks of `plan` have equal weights, so do those of `recut` and `replanned`. Other weights are not
/// known any more: the work of a tile is then assumed to be its device's score, divided equally among its
/// blocks.
[[nodiscard]] inline Plan replanned(const Plan& plan, const RemainingDevices& devices) {
  return PlanAccess::replanned(plan, devices);
}

}  // namespace TESSERA_NAMESPACE::detail

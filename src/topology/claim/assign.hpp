// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/topology/device_info.hpp>

#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::detail {

/// A device that a rank of the node sees. Excludes devices that other jobs use and do not share.
struct Sighting {
  int rank = 0;
  Uuid uuid;
  int distance = 0;         ///< see `ProbedDevice::distance`
  int users_elsewhere = 0;  ///< ranks of other jobs that share the device
  friend auto operator<=>(const Sighting&, const Sighting&) = default;
};

/// A device of a rank, and the number of ranks of all jobs that use the device.
struct Assignment {
  int rank = 0;
  Uuid uuid;
  int sharers = 1;
  friend auto operator<=>(const Assignment&, const Assignment&) = default;
};

/// Assigns a node's devices to its ranks. Pure function.
///
///     // two ranks see the same two devices, rank 0 nearer to B, rank 1 nearer to A
///     const std::vector<Sighting> sightings{{0, A, 2}, {0, B, 0}, {1, A, 0}, {1, B, 2}};
///     assign_devices(sightings, false);                // {{0, B}, {1, A}}
///
/// First, a maximum matching gives one device each to as many ranks as possible, with the smallest sum of
/// distances; ties: lowest UUID for rank 0, then rank 1, and so on. Then each remaining device, lowest UUID
/// first, goes to the nearest rank that sees it; ties: fewer devices, then lower rank. Last, with
/// `allow_sharing`, each rank without a device shares the visible device with the fewest users; ties:
/// nearest, then lowest UUID. Devices of other jobs can only be shared.
///
/// The result is sorted by rank, distance, UUID, and does not depend on the order of `sightings`. Cost:
/// O(ranks^2 (ranks + devices)), below a millisecond for 16 ranks. Source: successive shortest paths for the
/// assignment problem (Kuhn 1955; Jonker and Volgenant 1987).
[[nodiscard]] std::vector<Assignment> assign_devices(std::span<const Sighting> sightings, bool allow_sharing);

}  // namespace TESSERA_NAMESPACE::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/topology/device_info.hpp>

#include <span>
#include <vector>

namespace tessera::inline TESSERA_ABI::detail {

/// What one rank of a node sees of one device: the input of `assign_devices`.
struct Sighting {
  int rank = 0;
  Uuid uuid;
  int distance = 0;
  int drivers_elsewhere = 0;  ///< ranks of other jobs that drive it and let others join
  friend auto operator<=>(const Sighting&, const Sighting&) = default;
};

/// A rank that drives a device; `sharers` ranks, those of other jobs too, drive the same one.
struct Assignment {
  int rank = 0;
  Uuid uuid;
  int sharers = 1;
  friend auto operator<=>(const Assignment&, const Assignment&) = default;
};

/// Who drives what inside one node: the pure core of the claim.
///
///     // two ranks see the same two devices, rank 0 nearer to B, rank 1 nearer to A
///     const std::vector<Sighting> sightings{{0, A, 2}, {0, B, 0}, {1, A, 0}, {1, B, 2}};
///     assign_devices(sightings, false);                // {{0, B}, {1, A}}
///
/// Every device that some rank sees is driven by exactly one rank, and as many ranks as possible
/// drive one (a maximum matching first); among those, the sum of distances is least; ties go to the
/// lower rank and then the lower UUID: rank 0 gets the lowest UUID that it can have, then rank 1, and so
/// on. Devices left over, lowest UUID first, go to the nearest rank that sees them, among equally near
/// ones to the rank with fewer devices, then the lower rank. A rank that gets none shares one only if
/// `allow_sharing`: the least shared, then nearest, then lowest UUID that it sees. A device that another job
/// drives is never given but to be shared.
///
/// The result is sorted by rank, then distance, then UUID. The order of `sightings` does not matter.
/// Pure, thread-safe. Cost: O(ranks^2 (ranks + devices)), below a millisecond for 16 ranks.
/// Source: successive shortest paths for the assignment problem (Kuhn 1955; Jonker and Volgenant 1987).
[[nodiscard]] std::vector<Assignment> assign_devices(std::span<const Sighting> sightings, bool allow_sharing);

}  // namespace tessera::inline TESSERA_ABI::detail

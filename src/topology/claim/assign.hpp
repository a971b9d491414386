// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/topology/device_info.hpp>

#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::detail {

/// One device as seen by one rank of a node: the input of `assign_devices`. `claim` has removed the devices
/// that other jobs use and do not share.
struct Sighting {
  int rank = 0;
  Uuid uuid;
  int distance = 0;
  int users_elsewhere = 0;  ///< number of ranks of other jobs that use the device and allow sharing
  friend auto operator<=>(const Sighting&, const Sighting&) = default;
};

/// A rank that uses a device, and the number of all ranks that use the device, also of other jobs.
struct Assignment {
  int rank = 0;
  Uuid uuid;
  int sharers = 1;
  friend auto operator<=>(const Assignment&, const Assignment&) = default;
};

/// The assignment of a node's devices to its ranks: the pure part of the claim.
///
///     // two ranks see the same two devices, rank 0 nearer to B, rank 1 nearer to A
///     const std::vector<Sighting> sightings{{0, A, 2}, {0, B, 0}, {1, A, 0}, {1, B, 2}};
///     assign_devices(sightings, false);                // {{0, B}, {1, A}}
///
/// First, as many ranks as possible get one device each: a maximum matching; among the maximum matchings, the
/// one with the smallest sum of distances; ties: rank 0 gets the lowest UUID that it can have, then rank 1,
/// and so on. Then each device left over, lowest UUID first, goes to the nearest rank that sees it; among
/// equally near ones to the rank with fewer devices, then to the lower rank. Last, with `allow_sharing`, each
/// rank without a device shares one that it sees: the one with the fewest users, then the nearest, then the
/// lowest UUID. A device that another job uses can only be shared.
///
/// The result is sorted by rank, then distance, then UUID. The order of `sightings` does not matter.
/// Pure, thread-safe. Cost: O(ranks^2 (ranks + devices)), below a millisecond for 16 ranks.
/// Source: successive shortest paths for the assignment problem (Kuhn 1955; Jonker and Volgenant 1987).
[[nodiscard]] std::vector<Assignment> assign_devices(std::span<const Sighting> sightings, bool allow_sharing);

}  // namespace TESSERA_NAMESPACE::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/mpi/communicator.hpp>
#include <tessera/topology/probe.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace tessera {

/// What one rank of a node sees of one device: the input of `assign_devices`.
struct Sighting {
  int rank = 0;
  Uuid uuid;
  int distance = 0;
  friend auto operator<=>(const Sighting&, const Sighting&) = default;
};

/// A rank that drives a device; `sharers` ranks drive the same one.
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
/// `allow_sharing`: the least shared, then nearest, then lowest UUID that it sees.
///
/// The result is sorted by rank, then distance, then UUID. The order of `sightings` does not matter.
/// Pure, thread-safe. Cost: O(ranks^2 (ranks + devices)), below a millisecond for 16 ranks.
/// Source: successive shortest paths for the assignment problem (Kuhn 1955; Jonker and Volgenant 1987).
[[nodiscard]] std::vector<Assignment> assign_devices(std::span<const Sighting> sightings, bool allow_sharing);

/// A device that this rank drives.
struct ClaimedDevice {
  DeviceInfo info;
  int sharers = 1;  ///< ranks that drive this device; more than one only where sharing was allowed
};

/// What the ranks of this rank's node agreed on, as this rank sees it.
struct Claim {
  int node = 0;   ///< this rank's node, numbered from 0 by the lowest rank on it
  int nodes = 1;  ///< nodes of the job
  std::vector<ClaimedDevice> devices;
  std::optional<Absence> absence;  ///< present exactly when `devices` is empty
};

/// The ranks of each node agree who drives which GPU, by UUID. *Collective* over `comm`.
///
/// Ranks are on one node if boot id and host name agree, also where MPI's shared-memory split says
/// otherwise (containers). Right under: every rank sees all GPUs; each sees one; overlapping subsets;
/// more ranks than GPUs; more GPUs than ranks; MIG. A rank that could not probe takes part with no
/// device, and its claim carries the probe's absence. Containers on one machine that have host names of
/// their own count as nodes of their own: they must be given different GPUs, or the host's name.
/// Makes no CUDA call. Throws only what `comm` throws. Blocks. Cost: three small collectives.
[[nodiscard]] Claim claim(const mpi::Communicator& comm, const Probe& probe, bool allow_sharing);

/// Makes only the claimed devices visible to CUDA in this process, by UUID in claim order, so that
/// CUDA's start-up does not pay for the other ranks' GPUs: device i of the claim gets ordinal i.
/// Must run before the first CUDA call. If the caller has initialised CUDA already it changes nothing
/// and returns false; ordinals must then be looked up by UUID. A rank whose GPUs the other ranks drive
/// all (`none_left`) sees none from then on. Simulated devices, and a claim that is empty for another
/// reason, leave the environment alone: true. Not thread-safe: it sets CUDA_VISIBLE_DEVICES.
bool make_visible(const Claim& claim);

}  // namespace tessera

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/mpi/communicator.hpp>
#include <tessera/topology/probe.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tessera {

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

/// A device that this rank drives.
struct ClaimedDevice {
  DeviceInfo info;
  int sharers = 1;            ///< ranks that drive this device; more than one only where sharing was allowed
  int sharers_elsewhere = 0;  ///< those of other jobs among them
  std::int64_t reserved_elsewhere_bytes = 0;  ///< of its memory, by those

  /// Device memory that this rank should plan with: its share, among the sharers of this job, of the lesser
  /// of what is free and half of what other jobs have left. So jobs that share a device plan, all together,
  /// with less than it has.
  [[nodiscard]] std::int64_t memory_budget_bytes() const noexcept {
    const std::int64_t half =
        std::max<std::int64_t>(info.total_memory_bytes - reserved_elsewhere_bytes, 0) / 2;
    return std::min(info.free_memory_bytes, half) / std::max(sharers - sharers_elsewhere, 1);
  }
};

/// What the ranks of this rank's node agreed on, as this rank sees it.
struct Claim {
  int node = 0;   ///< this rank's node, numbered from 0 by the lowest rank on it
  int nodes = 1;  ///< nodes of the job
  std::vector<ClaimedDevice> devices;
  std::optional<Absence> absence;  ///< present exactly when `devices` is empty
  /// Why other jobs on the node may not know of this claim, nor it of theirs; empty if all is well.
  std::string unguarded;
  /// While a copy of this lives, other jobs know that the devices are driven.
  std::shared_ptr<const void> held;
};

/// The ranks of each node agree who drives which GPU, by UUID. *Collective* over `comm`.
///
/// Ranks are on one node if boot id and host name agree, also where MPI's shared-memory split says
/// otherwise (containers). Right under: every rank sees all GPUs; each sees one; overlapping subsets;
/// more ranks than GPUs; more GPUs than ranks; MIG. A rank that could not probe takes part with no
/// device, and its claim carries the probe's absence. Containers on one machine that have host names of
/// their own count as nodes of their own: they must be given different GPUs, or the host's name.
///
/// A device is driven until `held` goes, or the process ends, however it ends. Until then no other job of
/// the same user on the machine gets it, be it of other ranks of this mpirun, of another one, or of this very
/// process, unless both jobs allow sharing. Claims of different jobs come one after the other. Not known
/// are jobs of other users, and those in containers with a /dev/shm of their own.
///
/// Makes no CUDA call. Throws only what `comm` throws. Blocks. Cost: seven small collectives, and
/// some tens of microseconds for the locks of each device.
[[nodiscard]] Claim claim(const mpi::Communicator& comm, const Probe& probe, bool allow_sharing);

}  // namespace tessera

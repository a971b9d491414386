// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/mpi/communicator.hpp>
#include <tessera/topology/probe.hpp>
#include <tessera/version.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tessera::inline TESSERA_ABI {

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
[[nodiscard]] TESSERA_EXPORT Claim claim(const mpi::Communicator& comm, const Probe& probe,
                                         bool allow_sharing);

}  // namespace tessera::inline TESSERA_ABI

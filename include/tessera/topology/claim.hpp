// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/mpi/communicator.hpp>
#include <tessera/topology/probe.hpp>
#include <tessera/version.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE {
namespace detail {
class ProcessClaim;
}  // namespace detail

/// A device that this rank drives.
struct TESSERA_EXPORT ClaimedDevice {
  DeviceInfo info;
  int sharers = 1;            ///< ranks that drive this device; more than one only if sharing is allowed
  int sharers_elsewhere = 0;  ///< number of the `sharers` that are ranks of other jobs
  std::int64_t reserved_elsewhere_bytes = 0;  ///< device memory that ranks of other jobs have reserved

  /// Device memory that this rank may use: the minimum of the free memory and `DeviceInfo::memory_fraction`
  /// of the memory that other jobs have not reserved, divided by the number of ranks of this job that share
  /// the device. The budgets of all jobs that share a device thus never exceed its memory.
  [[nodiscard]] std::int64_t memory_budget_bytes() const noexcept;
};

/// The devices that the ranks of a node have agreed to assign to one rank.
struct Claim {
  int node = 0;   ///< number of this rank's node, from 0 in the order of the nodes' lowest ranks
  int nodes = 1;  ///< number of nodes of the job
  std::vector<ClaimedDevice> devices;
  std::optional<Absence> absence;  ///< present exactly when `devices` is empty
  /// Why the claim is not protected against other jobs on the node (their locks could not be read or set);
  /// empty if it is protected.
  std::string unguarded;
  /// File locks that show other jobs that the devices are in use; shared by all copies.
  std::shared_ptr<const void> locks;
  /// State of the turns that jobs over serial communicators of this process take on the devices; null for
  /// other communicators, and without a device.
  std::shared_ptr<detail::ProcessClaim> turns;
};

/// Assigns the GPUs of each node to its ranks, by UUID. *Collective* over `comm`.
///
/// Ranks with the same boot id and host name are on the same node, even if MPI's shared-memory split
/// separates them (containers). Ranks may see all GPUs, one GPU each, or overlapping subsets; there may be
/// more ranks than GPUs, or fewer; MIG instances are devices. A rank whose probe of the hardware failed takes
/// part without a device, and its claim has the probe's absence. Containers on one machine with different
/// host names count as different nodes: give them different GPUs, or the host's name.
///
/// A device stays claimed until the last copy of `Claim::locks` is destroyed or the process ends, even by a
/// crash. Until then no other job of the same user on the machine gets the device, unless both jobs allow
/// sharing. This applies to jobs of this process, of this mpirun and of others. Claims of different jobs are
/// serialised. Jobs of other users, and jobs in containers with their own /dev/shm, are not detected.
///
/// *Serial communicators of one process share a claim*: a device that is claimed over one serial communicator
/// can be claimed over others too, with the same lock and the same free memory. Their jobs take turns on the
/// devices (<tessera/job/device_turn.hpp>). To other jobs, including a job over MPI in the same process,
/// these serial jobs count as one job, which allows sharing if all of them do.
///
/// Makes no CUDA call. Throws only what `comm` throws. Blocks. Cost: seven small collectives, and some tens
/// of microseconds for the locks of each device; no file is opened on a node of which no rank sees a device.
[[nodiscard]] TESSERA_EXPORT Claim claim(const mpi::Communicator& comm, const Probe& probe,
                                         bool allow_sharing);

}  // namespace TESSERA_NAMESPACE

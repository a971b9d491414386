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
  int sharers_elsewhere = 0;  ///< those of the sharers that are ranks of other jobs
  std::int64_t reserved_elsewhere_bytes = 0;  ///< device memory that ranks of other jobs have reserved

  /// Device memory that this rank may use: the minimum of the free memory and `DeviceInfo::memory_fraction`
  /// of the memory that other jobs have not reserved, divided by the sharers of this job. Jobs that share a
  /// device thus plan with at most its memory in total.
  [[nodiscard]] std::int64_t memory_budget_bytes() const noexcept;
};

/// This rank's part of the agreement among the ranks of its node.
struct Claim {
  int node = 0;   ///< number of this rank's node, from 0 in the order of the nodes' lowest ranks
  int nodes = 1;  ///< number of nodes of the job
  std::vector<ClaimedDevice> devices;
  std::optional<Absence> absence;  ///< present exactly when `devices` is empty
  /// Why the claim is not protected against other jobs on the node (their locks could not be read or set);
  /// empty if it is protected.
  std::string unguarded;
  /// The locks by which other jobs see that the devices are in use; shared by all copies.
  std::shared_ptr<const void> locks;
  /// The turns of this process's serial jobs on the devices; null if `comm` is not serial, or there is no
  /// device.
  std::shared_ptr<detail::ProcessClaim> turns;
};

/// Assigns the GPUs of each node to its ranks, by UUID. *Collective* over `comm`.
///
/// Ranks with the same boot id and host name are on the same node, even if MPI's shared-memory split
/// separates them (containers). Ranks may see all GPUs, one GPU each, or overlapping subsets; there may be
/// more ranks than GPUs, or fewer; MIG instances are devices. A rank whose probe failed takes part without a
/// device, and its claim has the probe's absence. Containers on one machine with different host names count
/// as different nodes: give them different GPUs, or the host's name.
///
/// A device stays claimed until the last copy of `Claim::locks` is destroyed or the process ends, however it
/// ends. Until then no other job of the same user on the machine gets the device, whether that job is in
/// this process, in this mpirun or in another, unless both jobs allow sharing. Claims of different jobs are
/// serialised. Jobs of other users, and jobs in containers with a /dev/shm of their own, are not detected.
///
/// *Serial communicators of one process share a claim*: a device that is claimed over one of them can be
/// claimed over the others too, with the same lock and the same free memory. Their jobs take turns on the
/// devices (<tessera/job/device_turn.hpp>). To other jobs these serial jobs count as one job, which allows
/// sharing if all of them do. A job over MPI in the same process is another job.
///
/// Makes no CUDA call. Throws only what `comm` throws. Blocks. Cost: seven small collectives, and
/// some tens of microseconds for the locks of each device; where no rank of a node sees a device, no file is
/// opened there.
[[nodiscard]] TESSERA_EXPORT Claim claim(const mpi::Communicator& comm, const Probe& probe,
                                         bool allow_sharing);

}  // namespace TESSERA_NAMESPACE

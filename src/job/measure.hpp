// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job/consensus/attempt.hpp"
#include "job/fault/fault.hpp"

#include <tessera/job/job.hpp>
#include <tessera/mpi/communicator.hpp>
#include <tessera/topology/claim.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace tessera::inline TESSERA_ABI {

/// Whether the devices of a job can be measured beside each other.
enum class Measurable {
  yes,
  no,     ///< a rank has no work to time, or wants other scores
  mixed,  ///< some are timed, others are simulated ones that go by their figures, in no unit of time
};
/// *Collective.* The same on every rank.
[[nodiscard]] Measurable measurable(const mpi::Communicator& comm, const std::vector<ClaimedDevice>& devices,
                                    const JobOptions& options);

/// *Collective.* Scores of the claimed devices, whole ones where ranks share them, by a timed run of the
/// caller's own work. After each has warmed up all runs begin together, so that a device that ranks share is
/// measured as they will use it. `attempt` receives the first device of this rank that could not do it. This
/// thread calls `progress` while devices work.
[[nodiscard]] std::vector<std::uint64_t> measure(const mpi::Communicator& comm,
                                                 const std::vector<ClaimedDevice>& devices,
                                                 const JobOptions& options, const fault::Faults& faults,
                                                 Attempt& attempt, const std::function<void()>& progress);

/// *Collective.* The scores of this rank's devices, of which each does a unit in so many seconds, beside
/// those of the other ranks. A device without a time, 0, scores 0.
[[nodiscard]] std::vector<std::uint64_t> scores_of(const mpi::Communicator& comm,
                                                   std::span<const double> seconds_per_unit);

}  // namespace tessera::inline TESSERA_ABI

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job/consensus/attempt.hpp"
#include "job/fault/fault.hpp"
#include "job/threads/device_threads.hpp"
#include "job/tile/pass_threads.hpp"

#include <tessera/job/job.hpp>
#include <tessera/mpi/communicator.hpp>
#include <tessera/topology/claim.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE {

/// Whether the devices of a job can be compared by timed runs.
enum class Measurable {
  yes,
  no,     ///< a rank has no work to time, or uses another score model
  mixed,  ///< some devices are timed, others are simulated and scored by their specification
};
/// *Collective.* Whether the devices can be compared; the same answer on every rank.
[[nodiscard]] Measurable measurable(const mpi::Communicator& comm, const std::vector<ClaimedDevice>& devices,
                                    const JobOptions& options);

/// *Collective.* Starts a thread for each of this rank's `devices`, which calls `warm_up`; then, unless that
/// failed, all threads of all ranks call `timed` at the same time, so that shared devices and buses are
/// measured under contention. The calling thread runs the progress callback meanwhile.
[[nodiscard]] Thrown run_timed(const mpi::Communicator& comm, std::size_t devices,
                               FunctionRef<void(std::size_t)> warm_up, FunctionRef<void(std::size_t)> timed,
                               FunctionRef<void()> progress);

/// *Collective.* Scores of the claimed devices, before division among sharers, by a timed run of the
/// application's work (`run_timed`); the host runs it on all of its `threads`. `attempt` receives the failure
/// of this rank's first device that fails. The calling thread runs the progress callback meanwhile.
[[nodiscard]] std::vector<std::uint64_t> measure(const mpi::Communicator& comm,
                                                 const std::vector<ClaimedDevice>& devices,
                                                 PassThreads threads, const JobOptions& options,
                                                 const fault::Faults& faults, Attempt& attempt,
                                                 FunctionRef<void()> progress);

/// *Collective.* The scores of this rank's devices by their seconds per unit, relative to the fastest of all
/// ranks. A time of 0 means no measurement, and gives the score 0.
[[nodiscard]] std::vector<std::uint64_t> scores_of(const mpi::Communicator& comm,
                                                   std::span<const double> seconds_per_unit);

}  // namespace TESSERA_NAMESPACE

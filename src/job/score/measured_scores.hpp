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

/// Whether timed runs can compare the devices of a job.
enum class Measurable {
  yes,
  no,     ///< a rank has no work to time, or a score model without timed runs
  mixed,  ///< some devices are timed, others simulated and scored by specification
};
/// *Collective.* Equal on every rank.
[[nodiscard]] Measurable measurable(const mpi::Communicator& comm, const std::vector<ClaimedDevice>& devices,
                                    const JobOptions& options);

/// *Collective.* For each device of this rank, on a thread of its own: calls `warm_up`, then `timed` unless
/// `warm_up` has thrown. All threads of all ranks start `timed` at the same time, so that shared devices and
/// buses are measured under contention. The calling thread runs the progress callback.
[[nodiscard]] Thrown run_timed(const mpi::Communicator& comm, std::size_t devices,
                               FunctionRef<void(std::size_t)> warm_up, FunctionRef<void(std::size_t)> timed,
                               FunctionRef<void()> progress);

/// *Collective.* Scores of the claimed devices by a timed run of the application's work (`run_timed`), before
/// division among sharers. The host runs the work on all of its `threads`. `attempt` gets the first failure
/// of this rank.
[[nodiscard]] std::vector<std::uint64_t> measure(const mpi::Communicator& comm,
                                                 const std::vector<ClaimedDevice>& devices,
                                                 PassThreads threads, const JobOptions& options,
                                                 const fault::Faults& faults, Attempt& attempt,
                                                 FunctionRef<void()> progress);

/// *Collective.* Scores of this rank's devices relative to the fastest device of all ranks. A time of 0 means
/// no measurement, and gives the score 0.
[[nodiscard]] std::vector<std::uint64_t> scores_of(const mpi::Communicator& comm,
                                                   std::span<const double> seconds_per_unit);

}  // namespace TESSERA_NAMESPACE

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/function.hpp>
#include <tessera/mpi/communicator.hpp>
#include <tessera/version.hpp>

namespace TESSERA_NAMESPACE::mpi {

/// *Collective.* Calls `work`, which makes collective calls, and throws on every rank if `work` throws on any
/// rank:
///
///     mpi::fail_together(job.comm(), [&] { result = gam::fit(job, formula, file); });
///
/// If `work` throws on one rank only, for example for lack of memory, the other ranks would otherwise wait
/// for it until a timeout ends the job. With `fail_together` they learn of the failure at the end of `work`,
/// or at their next collective call over all ranks of `comm`, on `comm` or on a communicator with the same
/// origin. All ranks throw an `Error` with the code and the text of the lowest rank that failed, or
/// `job_fault` if its exception was not an `Error`:
///
///     rank 1 (node7) failed: out of memory
///
/// If all ranks failed, each rethrows its own exception. Discard everything that `work` has changed,
/// including the job; the ranks can then construct another job. A rank that never arrives, because it is dead
/// or stopped, ends the job as usual, and so does a rank that fails inside an MPI call, or while other ranks
/// wait for it in a collective over a subset of the ranks or over devices. Calls may be nested: the outermost
/// call reports the failure.
///
/// Cost: a duplicate communicator, and during `work` an allreduce of 4 bytes before each collective call over
/// all ranks of `comm`. No cost with a serial communicator or a single rank.
TESSERA_EXPORT void fail_together(const Communicator& comm, FunctionRef<void()> work);

}  // namespace TESSERA_NAMESPACE::mpi

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

namespace TESSERA_NAMESPACE::mpi {

/// Switches the exit guard on or off. The guard detects a rank that leaves the program before other ranks. It
/// is on by default.
///
/// The guard is armed by the first `Communicator` of more than one rank, which every `Job` over several ranks
/// has, and by a `Session` that initialises MPI. It consists of functions for `on_exit` and
/// `std::at_quick_exit`, a terminate handler, and an attribute of MPI_COMM_SELF, which MPI_Finalize deletes
/// first. A rank that leaves too early then ends the job, with a line that names the rank. Without the guard,
/// the other ranks would wait for this rank, or the launcher would kill them and lose their results.
/// docs/library.md lists the ways out that the guard detects. If all ranks of MPI_COMM_WORLD come to the end
/// without MPI_Finalize, the guard calls MPI_Finalize. The guard uses no signal handler, thread or process.
/// Cost: 20 us a process, and an allreduce at the end.
///
/// A module that is loaded into another program, such as R or Python, calls `watch_exits(false)` on every
/// rank, best before its first communicator, because that program decides how the process ends. New threads
/// of the library then block asynchronous signals, because the host program's threads handle them. The end of
/// a `Session` stays collective. Takes effect at once. Any thread.
TESSERA_EXPORT void watch_exits(bool watched) noexcept;

}  // namespace TESSERA_NAMESPACE::mpi

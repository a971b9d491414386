// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

namespace TESSERA_NAMESPACE::mpi {

/// Sets whether the library watches how this process leaves the program. By default it does.
///
/// The first `Communicator` of more than one rank, which every `Job` over several ranks has, and a `Session`
/// that initialises MPI, arm a guard: functions for `on_exit` and `std::at_quick_exit`, a terminate handler,
/// and an attribute of MPI_COMM_SELF, which MPI_Finalize deletes first. A rank that leaves early then ends
/// the job, with a line that names it; otherwise the other ranks would wait for it, or the launcher would end
/// them and lose their results. docs/library.md lists the ways out that the guard notices. If all ranks of
/// MPI_COMM_WORLD come to the end without MPI_Finalize, the guard calls it. No signal handler, thread or
/// process is made. Cost: 20 us a process, and an allreduce at the end.
///
/// Where the process belongs to another program, such as R or Python, that program decides how it ends: a
/// module that is loaded there calls `watch_exits(false)` on every rank, best before its first communicator.
/// From then on new threads of the library block asynchronous signals, since the host program's threads
/// handle them. The end of a `Session` stays collective. Takes effect at once. Any thread.
TESSERA_EXPORT void watch_exits(bool watched) noexcept;

}  // namespace TESSERA_NAMESPACE::mpi

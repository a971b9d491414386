// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/mpi/communicator.hpp>
#include <tessera/version.hpp>

#include <functional>
#include <string>

namespace tessera::inline TESSERA_ABI {

/// *Collective.* Runs `work` and agrees on its outcome: if it throws on some ranks, every rank throws the
/// error of the lowest of them. For operations outside of passes that can fail on one rank alone, such as
/// reading a file: otherwise the other ranks would wait for it in the next collective.
///
///     tessera::together(comm, [&] { input = read(path); });
///
/// An `Error` keeps its code and message; any other exception becomes an `Error(job_fault)` that names the
/// rank. `work` may make collective calls of its own only where all ranks reach them. Cost: one allreduce of
/// an integer.
TESSERA_EXPORT void together(const mpi::Communicator& comm, const std::function<void()>& work);
/// The same, with a purpose for messages: "rank 1 waits in an allreduce, in the opening of the checkpoint".
TESSERA_EXPORT void together(const mpi::Communicator& comm, std::string purpose,
                             const std::function<void()>& work);

}  // namespace tessera::inline TESSERA_ABI

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/function.hpp>
#include <tessera/mpi/communicator.hpp>
#include <tessera/version.hpp>

#include <string>

namespace TESSERA_NAMESPACE {

/// *Collective.* Runs `work` on every rank and agrees on its outcome: if it throws on any rank, every rank
/// throws the same `Error`, that of the lowest rank that failed. For work outside of passes that can fail on
/// a single rank, such as reading a file: without the agreement, the other ranks would wait for the failed
/// rank in the next collective.
///
///     tessera::together(comm, "the reading of the input", [&] { input = read(path); });
///     // on every rank: "rank 3 (node7) failed in the reading of the input: no column \"age\" in b.csv"
///
/// The error has the code of the `Error` that was thrown, or `job_fault` for any other exception; its message
/// has the rank, its node, `purpose` and the reason. `purpose` is the same on every rank; messages about
/// waiting ranks name it too: "rank 1 waits in an allreduce, in the reading of the input". On ranks where
/// `work` did not fail, its changes remain. `work` may make a collective call only if every rank reaches the
/// call, even if another rank fails.
///
/// Throws `Error(usage)`, like any collective, if it is called on another thread than the one that made
/// `comm`. Blocks until every rank has done its work. Cost: one allreduce of an integer.
TESSERA_EXPORT void together(const mpi::Communicator& comm, const std::string& purpose,
                             FunctionRef<void()> work);
/// Like the overload above, for errors that do not depend on the rank, such as an error in a file that all
/// ranks read: the message of an `Error` is unchanged. Any other exception is reported with its rank.
TESSERA_EXPORT void together(const mpi::Communicator& comm, FunctionRef<void()> work);

}  // namespace TESSERA_NAMESPACE

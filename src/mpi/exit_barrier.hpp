// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include "mpi/rank_group.hpp"
#include "mpi/watchdog.hpp"

#include <chrono>

namespace TESSERA_NAMESPACE::mpi::detail {

/// How long a departed rank waits for the others; `timeout` is the program's own choice, or 0.
[[nodiscard]] WatchdogTimeouts exit_timeouts(ExitPath path, std::chrono::milliseconds timeout);

/// *Collective.* Waits for all ranks of the group, from which this one has departed. Unless a rank departs by
/// an exception, all must have made the same number of collective calls on each communicator, else the job
/// ends with an error: a rank that misses the last call need not block others, but lacks its result.
void exit_barrier(RankGroup& group, ExitPath path, const WatchdogTimeouts& timeouts);

}  // namespace TESSERA_NAMESPACE::mpi::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include "mpi/rank_group.hpp"
#include "mpi/watchdog.hpp"

#include <chrono>

namespace TESSERA_NAMESPACE::mpi::detail {

/// How long a departed rank waits for the others; `timeout` is the program's own choice, or 0.
[[nodiscard]] WatchdogTimeouts exit_timeouts(ExitPath path, std::chrono::milliseconds timeout);

/// *Collective.* Waits until all ranks of the group have departed. Unless one departs by an exception, ends
/// the job with an error if ranks have made different numbers of collective calls on a communicator: a rank
/// that skips the last call need not block the others, so that nothing else would show it.
void exit_barrier(RankGroup& group, ExitPath path, const WatchdogTimeouts& timeouts);

}  // namespace TESSERA_NAMESPACE::mpi::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include "mpi/rank_group.hpp"
#include "mpi/watchdog.hpp"

#include <chrono>

namespace TESSERA_NAMESPACE::mpi::detail {

/// Timeouts of a departed rank's exit barrier. `timeout`: the timeout that the program has set, or 0.
[[nodiscard]] WatchdogTimeouts exit_timeouts(ExitPath path, std::chrono::milliseconds timeout);

/// *Collective.* Waits until all ranks of the group have departed. Unless one departs by an exception, ends
/// the job if ranks have made different numbers of collective calls on a communicator. Nothing else detects a
/// skipped last call that does not block the other ranks.
void exit_barrier(RankGroup& group, ExitPath path, const WatchdogTimeouts& timeouts);

}  // namespace TESSERA_NAMESPACE::mpi::detail

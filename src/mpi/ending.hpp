// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include "mpi/rank_group.hpp"
#include "mpi/roll_call.hpp"

#include <chrono>

namespace tessera::inline TESSERA_ABI::mpi::detail {

/// How long a rank that has come to the end of the program waits there for the others, if `timeout` is what
/// the program has chosen, or 0.
[[nodiscard]] Patience patience_at_end(WayOut way, std::chrono::milliseconds timeout);

/// *Collective.* Waits for all ranks of the group, which this one has left. Unless one comes by an
/// exception, all must have made as many collective calls of each communicator: one that missed the last of
/// them may have kept nobody waiting, and yet have no result. If they have not, the job ends.
void meet_at_end(RankGroup& group, WayOut way, const Patience& patience);

}  // namespace tessera::inline TESSERA_ABI::mpi::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/host_team.hpp>
#include <tessera/job/tile.hpp>

#include <cstdint>

namespace TESSERA_NAMESPACE {

/// Calls `work` for parts of `range`, which begins a block, on the threads of `team`; parts are whole blocks.
/// With a `stop`, parts are smaller, and none is started after a request. Returns true if every part was
/// computed. Throws like `HostTeam::for_each_block`.
bool compute_on_host(Range range, std::int64_t block, HostTeam& team, FunctionRef<void(const HostTile&)> work,
                     const StopRequest* stop = nullptr);

/// Units per part of `units` on `threads` threads in a pass that can be stopped, in whole blocks: small
/// enough to stop soon in a pass of minutes, large enough that calls cost little.
[[nodiscard]] std::int64_t stoppable_step(std::int64_t units, std::int64_t block, int threads) noexcept;

}  // namespace TESSERA_NAMESPACE

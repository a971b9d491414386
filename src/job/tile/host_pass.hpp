// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/host_team.hpp>
#include <tessera/job/tile.hpp>

#include <cstdint>

namespace TESSERA_NAMESPACE {

/// Calls `work` for parts of `range` on the threads of `team`. `range` begins at a block boundary, and parts
/// are whole blocks. With `stop`, parts are smaller, and none starts after a request. Returns false if a
/// request left parts out. Throws like `HostTeam::for_each_block`.
bool compute_on_host(Range range, std::int64_t block, HostTeam& team, FunctionRef<void(const HostTile&)> work,
                     const StopRequest* stop = nullptr);

/// Units per part, in whole blocks, in a pass that can be stopped: small enough to stop soon, large enough
/// that calls cost little.
[[nodiscard]] std::int64_t stoppable_step(std::int64_t units, std::int64_t block, int threads) noexcept;

}  // namespace TESSERA_NAMESPACE

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/host_team.hpp>
#include <tessera/job/tile.hpp>

#include <cstdint>
#include <functional>

namespace tessera::inline TESSERA_ABI {

/// Gives `range` to `work` in parts of whole blocks (the first begins a block) on the threads of `team`.
/// Where there is a `stop`, parts are smaller, and no part begins once it is made. Returns true if every part
/// was computed. Throws as `HostTeam::for_each_block`.
bool compute_on_host(Range range, std::int64_t block, HostTeam& team,
                     const std::function<void(const HostTile&)>& work, const StopRequest* stop = nullptr);

/// A part of `units` for one of `threads`, in whole blocks: small enough for a stop to come soon in a pass
/// that takes minutes, large enough to be worth a call.
[[nodiscard]] std::int64_t stoppable_step(std::int64_t units, std::int64_t block, int threads) noexcept;

}  // namespace tessera::inline TESSERA_ABI

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/tile.hpp>

#include <cstdint>
#include <functional>

namespace tessera {

class StopRequest;

/// Gives `range` to `work` in parts of whole blocks (the first begins a block) on `threads` threads, the
/// calling one among them, whichever is free taking the next. After an exception no new part begins;
/// the exception of the earliest part that had one is rethrown, the same for any number of threads.
///
/// Where there is a `stop`, parts are smaller, the calling thread looks after it before each of its own, and
/// no part begins once it is made. Returns true if every part was computed.
bool compute_on_host(Range range, std::int64_t block, int threads,
                     const std::function<void(const HostTile&)>& work, StopRequest* stop = nullptr);

/// A part of `units` for one of `threads`, in whole blocks: small enough for a stop to come soon in a pass
/// that takes minutes, large enough to be worth a call.
[[nodiscard]] std::int64_t stoppable_step(std::int64_t units, std::int64_t block, int threads) noexcept;

}  // namespace tessera

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/tile.hpp>

#include <cstdint>
#include <functional>

namespace tessera {

/// Gives `range` to `work` in parts of whole blocks (the first begins a block) on `threads` threads, the
/// calling one among them, whichever is free taking the next. After an exception no new part begins;
/// the exception of the earliest part that had one is rethrown, the same for any number of threads.
void compute_on_host(Range range, std::int64_t block, int threads,
                     const std::function<void(const HostTile&)>& work);

}  // namespace tessera

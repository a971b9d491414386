// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/partition/plan.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

namespace tessera::gam {

/// Calls `work(thread, part)` for each block of `range` on `threads` threads, the calling one among them:
/// `thread` counts from 0, and no two calls with the same one run at once. For what is too little for a pass
/// of the job, and too much for one thread. `work` must not throw.
template <class Work>
void for_each_block(Range range, std::int64_t block, int threads, const Work& work) {
  if (range.empty()) return;
  const std::int64_t blocks = (range.size() - 1) / block + 1;
  std::atomic<std::int64_t> next = 0;
  const auto take_blocks = [&](int thread) {
    for (std::int64_t taken = 0; (taken = next.fetch_add(1, std::memory_order_relaxed)) < blocks;) {
      const std::int64_t begin = range.begin + taken * block;
      work(thread, Range{begin, range.end - begin > block ? begin + block : range.end});
    }
  };
  std::vector<std::jthread> others;
  const auto helpers = static_cast<int>(std::min<std::int64_t>(threads, blocks)) - 1;
  others.reserve(static_cast<std::size_t>(std::max(helpers, 0)));
  try {
    for (int thread = 1; thread <= helpers; ++thread) others.emplace_back(take_blocks, thread);
  } catch (const std::system_error&) {
    // Fewer threads do it, too.
  }
  take_blocks(0);
}

}  // namespace tessera::gam

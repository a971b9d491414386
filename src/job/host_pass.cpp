// SPDX-License-Identifier: Apache-2.0
#include "job/host_pass.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace tessera {
namespace {

/// Enough parts for the threads to end together where units cost differently, few enough for a part to
/// be worth a call.
constexpr std::int64_t parts_per_thread = 16;

std::int64_t units_of_a_part(std::int64_t units, std::int64_t block, int threads) {
  if (threads == 1) return units;
  const std::int64_t blocks = (units - 1) / block + 1;
  return std::max<std::int64_t>(1, blocks / (threads * parts_per_thread)) * block;
}

}  // namespace

void compute_on_host(Range range, std::int64_t block, int threads,
                     const std::function<void(const HostTile&)>& work) {
  if (range.empty()) return;
  const std::int64_t step = units_of_a_part(range.size(), block, threads);
  const std::int64_t parts = (range.size() - 1) / step + 1;
  std::atomic<std::int64_t> next = 0;
  std::atomic<bool> stop = false;
  std::mutex failing;
  std::int64_t failed_part = parts;
  std::exception_ptr thrown;

  const auto take_parts = [&](int thread) {
    // Parts are handed out in order and each that is handed out is computed, so the earliest part
    // that can fail always does.
    while (!stop.load(std::memory_order_relaxed)) {
      const std::int64_t part = next.fetch_add(1, std::memory_order_relaxed);
      if (part >= parts) return;
      const std::int64_t begin = range.begin + part * step;
      // Written so that no sum passes the end of the range, which may be near 2^63.
      const std::int64_t end = range.end - begin > step ? begin + step : range.end;
      try {
        work({.range = {begin, end}, .thread = thread, .threads = threads});
      } catch (...) {
        const std::lock_guard lock(failing);
        if (part < failed_part) {
          failed_part = part;
          thrown = std::current_exception();
        }
        stop = true;
      }
    }
  };

  {
    std::vector<std::jthread> others;
    const auto helpers = static_cast<int>(std::min<std::int64_t>(threads, parts)) - 1;
    others.reserve(static_cast<std::size_t>(helpers));
    for (int thread = 1; thread <= helpers; ++thread) others.emplace_back(take_parts, thread);
    take_parts(0);
  }
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace tessera

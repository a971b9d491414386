// SPDX-License-Identifier: Apache-2.0
#include "job/host_pass.hpp"

#include <tessera/job/stop_request.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace tessera {
namespace {

/// Enough parts for the threads to end together where units cost differently, few enough for a part to
/// be worth a call.
constexpr std::int64_t parts_per_thread = 16;

/// The same where a thread must see soon that it is to stop: of a pass of ten minutes, some two seconds.
constexpr std::int64_t stoppable_parts_per_thread = 256;

std::int64_t units_of_a_part(std::int64_t units, std::int64_t block, std::int64_t parts) {
  const std::int64_t blocks = (units - 1) / block + 1;
  return std::max<std::int64_t>(1, blocks / parts) * block;
}

std::int64_t step_of(std::int64_t units, std::int64_t block, int threads, bool stoppable) {
  if (stoppable) return stoppable_step(units, block, threads);
  return threads == 1 ? units : units_of_a_part(units, block, threads * parts_per_thread);
}

}  // namespace

std::int64_t stoppable_step(std::int64_t units, std::int64_t block, int threads) noexcept {
  return units_of_a_part(units, block, threads * stoppable_parts_per_thread);
}

bool compute_on_host(Range range, std::int64_t block, int threads,
                     const std::function<void(const HostTile&)>& work, StopRequest* stop) {
  if (range.empty()) return true;
  const std::int64_t step = step_of(range.size(), block, threads, stop != nullptr);
  const std::int64_t parts = (range.size() - 1) / step + 1;
  std::atomic<std::int64_t> next = 0;
  std::atomic<bool> failed = false;
  std::mutex failing;
  std::int64_t failed_part = parts;
  std::exception_ptr thrown;

  const auto told_to_stop = [&](int thread) {
    if (stop == nullptr) return false;
    if (thread == 0) stop->look();
    return stop->made();
  };
  const auto take_parts = [&](int thread) {
    // Parts are handed out in order and each that is handed out is computed, so the earliest part
    // that can fail always does.
    while (!failed.load(std::memory_order_relaxed) && !told_to_stop(thread)) {
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
        failed = true;
      }
    }
  };

  {
    std::vector<std::jthread> others;
    const auto helpers = static_cast<int>(std::min<std::int64_t>(threads, parts)) - 1;
    others.reserve(static_cast<std::size_t>(helpers));
    try {
      for (int thread = 1; thread <= helpers; ++thread) others.emplace_back(take_parts, thread);
    } catch (const std::system_error&) {
      // A cgroup or ulimit grants no more threads: those that there are do it, too.
    }
    take_parts(0);
  }
  if (thrown) std::rethrow_exception(thrown);
  return next.load(std::memory_order_relaxed) >= parts;
}

}  // namespace tessera

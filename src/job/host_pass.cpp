// SPDX-License-Identifier: Apache-2.0
#include "job/host_pass.hpp"

#include "job/attempt.hpp"

#include <tessera/job/stop_request.hpp>

#include <algorithm>
#include <numeric>
#include <utility>
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

void EarliestFailure::add(std::int64_t part, std::exception_ptr thrown) {
  const std::lock_guard lock(mutex_);
  if (part < part_) {
    part_ = part;
    std::swap(thrown_, thrown);
  }
  any_ = true;
}

void EarliestFailure::rethrow() const {
  if (thrown_) std::rethrow_exception(thrown_);
}

bool compute_on_host(Range range, std::int64_t block, WorkerThreads& threads,
                     const std::function<void(const HostTile&)>& work, const StopRequest* stop,
                     const std::function<void()>& meanwhile) {
  if (range.empty()) return true;
  const int all = static_cast<int>(threads.size());
  const std::int64_t step = step_of(range.size(), block, all, stop != nullptr);
  const std::int64_t parts = (range.size() - 1) / step + 1;
  std::atomic<std::int64_t> next = 0;
  std::atomic<std::int64_t> ended = 0;
  EarliestFailure failure;

  const std::function<void(int)> take_parts = [&](int thread) {
    // Parts are handed out in order and each that is handed out is computed, so the earliest part
    // that can fail always does.
    while (!failure.there_is() && !(stop != nullptr && stop->made())) {
      const std::int64_t part = next.fetch_add(1, std::memory_order_relaxed);
      if (part >= parts) return;
      const std::int64_t begin = range.begin + part * step;
      // Written so that no sum passes the end of the range, which may be near 2^63.
      const std::int64_t end = range.end - begin > step ? begin + step : range.end;
      try {
        work({.range = {begin, end}, .thread = thread, .threads = all});
      } catch (...) {
        const std::exception_ptr thrown = std::current_exception();
        failure.add(part, thrown ? thrown : std::make_exception_ptr(Misuse(thread_was_ended)));
        if (!thrown) throw;  // the thread is being unwound, to its end
      }
      ended.fetch_add(1, std::memory_order_relaxed);
    }
  };

  // A cgroup or ulimit may grant fewer threads: those that there are do it, too.
  std::vector<int> workers(threads.start_first(static_cast<std::size_t>(std::min<std::int64_t>(all, parts))));
  std::iota(workers.begin(), workers.end(), 0);
  threads.run(workers, take_parts, meanwhile);
  failure.rethrow();
  return ended.load(std::memory_order_relaxed) >= parts;
}

}  // namespace tessera

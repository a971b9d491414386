// SPDX-License-Identifier: Apache-2.0
#include <tessera/job/host_team.hpp>

#include "job/consensus/attempt.hpp"
#include "job/threads/earliest_failure.hpp"
#include "job/threads/worker_threads.hpp"

#include <tessera/job/stop_request.hpp>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <utility>
#include <vector>

namespace tessera::inline TESSERA_ABI {

struct HostTeam::State {
  State(int size, SharedFunction<void()> idle)
      : threads(static_cast<std::size_t>(std::max(size, 1)), WorkerThreads::host_patience),
        progress(std::move(idle)) {}

  /// Calls `take_blocks(thread)` on as many threads as there are blocks for.
  void run(std::int64_t blocks, FunctionRef<void(int)> take_blocks) {
    if (threads.size() == 1 && !progress) return take_blocks(0);
    const auto wanted = static_cast<std::size_t>(std::min(static_cast<std::int64_t>(threads.size()), blocks));
    // A cgroup or ulimit may grant fewer threads: those do all blocks.
    std::vector<int> workers(threads.start_first(wanted));
    std::iota(workers.begin(), workers.end(), 0);
    threads.run(workers, take_blocks, progress);
  }

  WorkerThreads threads;
  SharedFunction<void()> progress;
};

HostTeam::HostTeam(int threads, SharedFunction<void()> progress)
    : state_(std::make_unique<State>(threads, std::move(progress))) {}
HostTeam::~HostTeam() = default;
HostTeam::HostTeam(HostTeam&&) noexcept = default;
HostTeam& HostTeam::operator=(HostTeam&&) noexcept = default;

int HostTeam::size() const noexcept {
  return static_cast<int>(state_->threads.size());
}

bool HostTeam::for_each_block(Range range, std::int64_t block,
                              FunctionRef<void(int thread, Range block)> work, const StopRequest* stop) {
  if (range.empty()) return true;
  const std::int64_t blocks = (range.size() - 1) / block + 1;
  std::atomic<std::int64_t> next = 0;
  std::atomic<std::int64_t> ended = 0;
  EarliestFailure failure;

  state_->run(blocks, [&](int thread) {
    // Blocks are started in order, and each that is started runs, so the earliest block that fails always
    // does.
    while (!failure.any() && !(stop != nullptr && stop->requested())) {
      const std::int64_t taken = next.fetch_add(1, std::memory_order_relaxed);
      if (taken >= blocks) return;
      const std::int64_t begin = range.begin + taken * block;
      // Without a sum beyond the end of the range, which may be near 2^63.
      const std::int64_t end = range.end - begin > block ? begin + block : range.end;
      try {
        work(thread, {begin, end});
      } catch (...) {
        const std::exception_ptr thrown = std::current_exception();
        failure.add(taken, thrown ? thrown : std::make_exception_ptr(Misuse(thread_was_ended)));
        if (!thrown) throw;  // the thread is being cancelled
      }
      ended.fetch_add(1, std::memory_order_relaxed);
    }
  });
  failure.rethrow();
  return ended.load(std::memory_order_relaxed) >= blocks;
}

}  // namespace tessera::inline TESSERA_ABI

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job/worker_threads.hpp"

#include <tessera/job/tile.hpp>

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>

namespace tessera {

class StopRequest;

/// Of what parts that fail on several threads throw, that of the earliest part: the same for any number of
/// threads. Thread-safe.
class EarliestFailure {
 public:
  void add(std::int64_t part, std::exception_ptr thrown);
  [[nodiscard]] bool there_is() const noexcept { return any_.load(std::memory_order_relaxed); }
  /// Throws it if there is one. When all threads are done.
  void rethrow() const;

 private:
  std::mutex mutex_;
  std::atomic<bool> any_ = false;
  std::int64_t part_ = std::numeric_limits<std::int64_t>::max();
  std::exception_ptr thrown_;
};

/// Gives `range` to `work` in parts of whole blocks (the first begins a block) on `threads`, whichever is
/// free taking the next. After an exception no new part begins; the exception of the earliest part that had
/// one is rethrown, the same for any number of threads. The calling thread calls `meanwhile` while it waits,
/// and takes no part itself, as nothing else answers other ranks. Throws `Misuse` if a part ends its thread,
/// and `Error(job_fault)` if the system grants no thread.
///
/// Where there is a `stop`, parts are smaller, and no part begins once it is made. Returns true if every part
/// was computed.
bool compute_on_host(Range range, std::int64_t block, WorkerThreads& threads,
                     const std::function<void(const HostTile&)>& work, const StopRequest* stop = nullptr,
                     const std::function<void()>& meanwhile = {});

/// A part of `units` for one of `threads`, in whole blocks: small enough for a stop to come soon in a pass
/// that takes minutes, large enough to be worth a call.
[[nodiscard]] std::int64_t stoppable_step(std::int64_t units, std::int64_t block, int threads) noexcept;

}  // namespace tessera

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job/threads/parked_thread.hpp"

#include <tessera/function.hpp>
#include <tessera/version.hpp>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>

namespace TESSERA_NAMESPACE {

/// Lets a thread wait for work of other threads.
class Completion {
 public:
  /// Call after a change that makes `is_done()` true.
  void notify() {
    const std::lock_guard lock(mutex_);
    done_.notify_one();
  }

  /// Waits until `is_done()`. Runs the progress callback, which may be null, fifty times a second; rethrows
  /// its exception at the end.
  template <class IsDone>
  void wait(std::chrono::microseconds patience, const IsDone& is_done, FunctionRef<void()> progress) {
    if (is_over_within(patience, is_done)) return;
    std::exception_ptr thrown;
    std::unique_lock lock(mutex_);
    while (!done_.wait_for(lock, progress_interval, is_done)) {
      if (!progress || thrown) continue;
      lock.unlock();
      try {
        progress();
      } catch (...) {
        thrown = std::current_exception();
      }
      lock.lock();
    }
    if (thrown) std::rethrow_exception(thrown);
  }

 private:
  /// A hundredth of the watchdogs' grace period.
  static constexpr std::chrono::milliseconds progress_interval{20};

  std::mutex mutex_;
  std::condition_variable done_;
};

}  // namespace TESSERA_NAMESPACE

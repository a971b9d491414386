// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>

namespace TESSERA_NAMESPACE {

/// Polls `is_over()` for at most `patience`, yields in between, and returns the last value.
template <class IsOver>
bool is_over_within(std::chrono::microseconds patience, const IsOver& is_over) {
  const auto end = std::chrono::steady_clock::now() + patience;
  do {
    if (is_over()) return true;
    std::this_thread::yield();
  } while (std::chrono::steady_clock::now() < end);
  return is_over();
}

/// A thread that sleeps between calls of one function. Waking takes a tenth of the time of starting and
/// binding a thread (30 to 60 us).
class ParkedThread {
 public:
  /// Time for which a waiting thread polls and yields before it sleeps. Waking a sleeping thread takes 5 to
  /// 50 us, more in a virtual machine.
  static constexpr std::chrono::microseconds host_patience{20};  ///< short: computing threads need the cores
  static constexpr std::chrono::microseconds device_patience{2000};

  /// Starts the thread. `work` must not throw; after it has ended the thread (pthread_exit), `call` is not
  /// allowed. Throws `Error(job_fault)` if no thread can be started.
  ParkedThread(std::chrono::microseconds patience, std::function<void()> work);
  ~ParkedThread();
  ParkedThread(const ParkedThread&) = delete;
  ParkedThread& operator=(const ParkedThread&) = delete;

  /// Makes the thread call its function; calls before it wakes up are merged. The function sees all writes of
  /// the caller. Thread-safe; does not block.
  void call() noexcept;
  /// Makes the thread end after the call in progress. Does not block, so that several threads can end
  /// concurrently before their destructors wait.
  void end() noexcept;

 private:
  void serve(std::chrono::microseconds patience);

  std::function<void()> work_;
  /// On a separate cache line, to avoid false sharing: each thread polls its own counter.
  alignas(64) std::atomic<std::uint32_t> calls_ = 0;
  std::atomic<bool> ending_ = false;
  std::jthread thread_;  // last, because the thread uses the members above
};

}  // namespace TESSERA_NAMESPACE

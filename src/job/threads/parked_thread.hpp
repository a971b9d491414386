// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>

namespace TESSERA_NAMESPACE {

/// Polls `is_over()` for at most `patience`, yielding the core in between. Returns its last value.
template <class IsOver>
bool is_over_within(std::chrono::microseconds patience, const IsOver& is_over) {
  const auto end = std::chrono::steady_clock::now() + patience;
  do {
    if (is_over()) return true;
    std::this_thread::yield();
  } while (std::chrono::steady_clock::now() < end);
  return is_over();
}

/// A thread that sleeps between calls of one function. Waking it takes a tenth of the time of starting and
/// binding a thread (30 to 60 us); it is still awake if the next call comes soon.
class ParkedThread {
 public:
  /// How long a waiting thread yields its core before it sleeps. Waking it then takes 5 to 50 us, more in a
  /// virtual machine.
  static constexpr std::chrono::microseconds host_patience{20};  ///< threads that compute need the cores
  static constexpr std::chrono::microseconds device_patience{2000};

  /// Starts the thread. `work` must not throw; it may end the thread (pthread_exit), which then must not be
  /// called again. Throws `Error(job_fault)` if the system does not grant the thread.
  ParkedThread(std::chrono::microseconds patience, std::function<void()> work);
  /// Waits for the end of a call.
  ~ParkedThread();
  ParkedThread(const ParkedThread&) = delete;
  ParkedThread& operator=(const ParkedThread&) = delete;

  /// Makes the thread call its function, once for all calls made before it wakes up. The function sees all
  /// writes of the calling thread. Thread-safe; does not wait.
  void call() noexcept;
  /// Makes the thread end after the call in progress, without waiting, so that several threads end
  /// concurrently before they are destroyed one by one. It must not be called again.
  void end() noexcept;

 private:
  void serve(std::chrono::microseconds patience);

  std::function<void()> work_;
  /// On its own cache line: the caller writes it while other threads poll their counters.
  alignas(64) std::atomic<std::uint32_t> calls_ = 0;
  std::atomic<bool> ending_ = false;
  std::jthread thread_;  // declared last, since it uses the members above
};

}  // namespace TESSERA_NAMESPACE

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/function.hpp>
#include <tessera/version.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace tessera::inline TESSERA_ABI {

/// The threads that run a job's functions, parked between passes: one for each device of the rank, or for
/// each host thread. Waking a thread takes a tenth of the time of starting and binding one (30 to 60 us), and
/// a pass soon after another finds it awake. The thread that calls MPI only waits, so that it can reply to
/// other ranks however long a function takes.
///
/// A thread is started when it first has work. Woken threads wake others in a binary tree, so that eight
/// threads start after three wakes, not eight. Not thread-safe.
class WorkerThreads {
 public:
  /// How long a thread that waits yields its core before it sleeps: to be woken takes 5 to 50 us, more in a
  /// virtual machine.
  static constexpr std::chrono::microseconds host_patience{20};  ///< threads that compute need the cores
  static constexpr std::chrono::microseconds device_patience{2000};

  WorkerThreads(std::size_t workers, std::chrono::microseconds patience);
  ~WorkerThreads();
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  [[nodiscard]] std::size_t size() const noexcept { return workers_.size(); }

  /// Starts those of the first `wanted` threads that are not running, and returns how many are: fewer if the
  /// system grants no more. Throws `Error(job_fault)` if it grants none.
  [[nodiscard]] std::size_t start_first(std::size_t wanted);

  /// Calls `work(worker)` for each of `workers` (distinct, below `size()`), each on that worker's thread, and
  /// waits for all. `work` must not throw; it may end its thread (pthread_exit), which the next run replaces.
  /// Throws `Error(job_fault)` without a call if the system does not grant the threads.
  ///
  /// While it waits, the calling thread runs the progress callback fifty times a second. An exception of the
  /// callback is rethrown when all work has ended.
  void run(std::span<const int> workers, FunctionRef<void(int)> work, FunctionRef<void()> progress = {});

 private:
  struct Worker;
  class Turn;

  void start(int worker);
  void wake(std::size_t position);
  void serve(int worker);

  std::chrono::microseconds patience_;
  std::span<const int> called_;                         ///< the workers of the run in progress
  FunctionRef<void(int)> work_;                         ///< of the run in progress
  alignas(64) std::atomic<std::uint32_t> running_ = 0;  ///< its workers that are not done
  std::mutex mutex_;
  std::condition_variable all_done_;
  std::vector<std::unique_ptr<Worker>> workers_;  // last: their threads use what is above
};

}  // namespace tessera::inline TESSERA_ABI

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job/threads/completion.hpp"

#include <tessera/function.hpp>
#include <tessera/version.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE {

/// The thread pool of a job's devices, parked between passes. Each thread has work that no other can do, so a
/// run waits for all of them. The thread that calls MPI only waits, so that it can reply to other ranks
/// however long a function takes.
///
/// A thread is started when it first has work. Woken threads wake others in a binary tree, so that eight
/// threads start after three wakes, not eight. Not thread-safe.
class WorkerThreads {
 public:
  WorkerThreads(std::size_t workers, std::chrono::microseconds patience);
  ~WorkerThreads();
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  [[nodiscard]] std::size_t size() const noexcept { return workers_.size(); }

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
  void take_turn(int worker);

  std::chrono::microseconds patience_;
  std::span<const int> called_;                         ///< the workers of the run in progress
  FunctionRef<void(int)> work_;                         ///< work of the run in progress
  alignas(64) std::atomic<std::uint32_t> running_ = 0;  ///< workers of that run that are not done
  Completion completion_;
  std::vector<std::unique_ptr<Worker>> workers_;  // declared last, since their threads use the members above
};

}  // namespace TESSERA_NAMESPACE

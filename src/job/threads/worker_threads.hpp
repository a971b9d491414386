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

/// The threads of a job's lanes, parked between passes. Each worker's work runs on its own thread. The MPI
/// thread only waits, so that it can reply to other ranks during long functions.
///
/// Threads start on first use. Woken threads wake others in a binary tree: eight threads take three rounds.
/// Not thread-safe.
class WorkerThreads {
 public:
  WorkerThreads(std::size_t workers, std::chrono::microseconds patience);
  ~WorkerThreads();
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  [[nodiscard]] std::size_t size() const noexcept { return workers_.size(); }

  /// Calls `work(worker)` for each of `workers` (distinct, below `size()`) on its thread, and waits for all.
  /// `work` must not throw; it may end its thread (pthread_exit), which the next run replaces. Throws
  /// `Error(job_fault)`, without any call, if threads cannot be started.
  ///
  /// The waiting thread runs the progress callback fifty times a second, and rethrows its exception at the
  /// end.
  void run(std::span<const int> workers, FunctionRef<void(int)> work, FunctionRef<void()> progress = {});

 private:
  struct Worker;
  class Turn;

  void start(int worker);
  void wake(std::size_t position);
  void take_turn(int worker);

  std::chrono::microseconds patience_;
  std::span<const int> called_;
  FunctionRef<void(int)> work_;
  alignas(64) std::atomic<std::uint32_t> running_ = 0;  ///< workers that are not done
  Completion completion_;
  std::vector<std::unique_ptr<Worker>> workers_;  // last, because threads use the members above
};

}  // namespace TESSERA_NAMESPACE

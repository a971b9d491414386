// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/function.hpp>
#include <tessera/held.hpp>
#include <tessera/partition/plan.hpp>
#include <tessera/version.hpp>

#include <cstdint>
#include <memory>

namespace TESSERA_NAMESPACE {

class StopRequest;

/// A pool of host threads that sleep between calls: waking a thread takes a tenth of the time of starting it.
///
///     HostTeam team(8);
///     std::vector<double> sums(8);
///     team.for_each_block({0, rows}, 4096, [&](int thread, Range block) { sums[thread] += sum_of(block); });
///
/// A job uses a team for its passes; `Job::host_team` returns that team for use between passes. Not
/// thread-safe; `work` must not use the team that it runs on.
class TESSERA_EXPORT HostTeam {
 public:
  /// `threads` is at least 1; a thread is started when it first has work. Without a progress callback the
  /// calling thread works as thread 0. With a callback the calling thread only waits, and runs the callback
  /// fifty times a second.
  explicit HostTeam(int threads, SharedFunction<void()> progress = {});
  ~HostTeam();
  HostTeam(HostTeam&&) noexcept;
  HostTeam& operator=(HostTeam&&) noexcept;

  [[nodiscard]] int size() const noexcept;

  /// Calls `work(thread, block)` for each block of `range`, and waits for completion. The last block may be
  /// short. Blocks are scheduled dynamically, in order. The call does not wait for a thread that the system
  /// has not scheduled by the time the last block is taken. `thread` counts from 0, and no two calls with the
  /// same `thread` run concurrently. If the system cannot start all threads, the started ones do all the
  /// work.
  ///
  /// After an exception no further block is started; the exception of the earliest block is rethrown, the
  /// same for any number of threads. An exception of the progress callback is rethrown when all work has
  /// ended. With a `stop`, no block is started after a request. Returns true if every block was completed.
  /// Throws `Error(job_fault)` if there is a callback and no thread can be started; throws `Error(usage)` if
  /// `work` ends its thread (pthread_exit); the next call starts a new thread instead.
  bool for_each_block(Range range, std::int64_t block, FunctionRef<void(int thread, Range block)> work,
                      const StopRequest* stop = nullptr);

 private:
  struct State;
  detail::Held<std::unique_ptr<State>, "HostTeam"> state_;
};

}  // namespace TESSERA_NAMESPACE

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/partition/plan.hpp>
#include <tessera/version.hpp>

#include <cstdint>
#include <functional>
#include <memory>

namespace tessera::inline TESSERA_ABI {

class StopRequest;

/// A pool of host threads, parked between calls: waking a thread takes a tenth of the time of starting one.
///
///     HostTeam team(8);
///     std::vector<double> sums(8);
///     team.for_each_block({0, rows}, 4096, [&](int thread, Range block) { sums[thread] += sum_of(block); });
///
/// A job has one for its passes, `Job::host_team`, which is free between them. Not thread-safe; `work` may
/// not use the team that it runs on.
class TESSERA_EXPORT HostTeam {
 public:
  /// `threads` is 1 or more; each is started when it first has work. The calling thread does no work; while
  /// it waits it runs the progress callback fifty times a second. With one thread and no callback the calling
  /// thread does the work.
  explicit HostTeam(int threads, std::function<void()> progress = {});
  ~HostTeam();
  HostTeam(HostTeam&&) noexcept;
  HostTeam& operator=(HostTeam&&) noexcept;

  [[nodiscard]] int size() const noexcept;

  /// Calls `work(thread, part)` for each block of `range`, the last of which may be short, and waits for all.
  /// Blocks are handed out in their order, each to whichever thread is free; `thread` counts from 0, and no
  /// two calls with the same one run at once. Where the system grants fewer threads, those do it all.
  ///
  /// After an exception no new block is begun; the exception of the earliest block is rethrown, the same for
  /// any number of threads. An exception of the progress callback is rethrown when all work has ended. With a
  /// `stop`, no block is begun after a request. Returns true if every block was done. Throws
  /// `Error(job_fault)` if the system grants no thread, and `Error(usage)` if `work` ends its thread
  /// (pthread_exit), which the next call replaces.
  bool for_each_block(Range range, std::int64_t block,
                      const std::function<void(int thread, Range block)>& work,
                      const StopRequest* stop = nullptr);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera::inline TESSERA_ABI

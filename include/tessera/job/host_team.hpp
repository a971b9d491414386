// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/partition/plan.hpp>
#include <tessera/version.hpp>

#include <cstdint>
#include <functional>
#include <memory>

namespace tessera::inline TESSERA_ABI {

class StopRequest;

/// Threads of the host that share work, and are parked in between: waking one takes a tenth of the time that
/// starting one takes.
///
///     HostTeam team(8);
///     std::vector<double> sums(8);
///     team.for_each_block({0, rows}, 4096, [&](int thread, Range block) { sums[thread] += sum_of(block); });
///
/// A job has one for its passes, `Job::host_team`, which is free between them. Not thread-safe; `work` may
/// not use the team that it runs on.
class TESSERA_EXPORT HostTeam {
 public:
  /// `threads` of them, 1 or more; each is started when it first has work. The calling thread, which takes no
  /// part, calls `meanwhile` fifty times a second while it waits. One thread, and nothing to do meanwhile:
  /// the calling thread does the work itself.
  explicit HostTeam(int threads, std::function<void()> meanwhile = {});
  ~HostTeam();
  HostTeam(HostTeam&&) noexcept;
  HostTeam& operator=(HostTeam&&) noexcept;

  [[nodiscard]] int size() const noexcept;

  /// Calls `work(thread, part)` for each block of `range`, the last of which may be short, and waits for all.
  /// Blocks are handed out in their order, each to whichever thread is free; `thread` counts from 0, and no
  /// two calls with the same one run at once. Where the system grants fewer threads, those do it all.
  ///
  /// After an exception no new block is begun, and that of the earliest block that had one is rethrown, the
  /// same for any number of threads. What `meanwhile` throws is rethrown when all work is done. With a
  /// `stop`, no block is begun once it is made. Returns true if every block was done. Throws
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

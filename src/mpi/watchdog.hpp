// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include "mpi/rank_group.hpp"
#include "mpi/time_limit.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::mpi::detail {

/// How long a collective waits for missing ranks.
struct WatchdogTimeouts {
  std::chrono::milliseconds timeout{};  ///< 0: for ever
  /// Time after which missing ranks are reported, below `timeout`; 0: never.
  std::chrono::milliseconds notice{};
  bool only_silence = false;  ///< whether to report only ranks that do not reply, and to wait for all others
};

/// The watchdog of one collective call, which would otherwise hang (deadlock): finds the ranks that do not
/// take part, and ends the job with their names.
///
/// A rank that waits in a collective calls `step` repeatedly. When its timeout expires it asks the other
/// members of the communicator where they are, and every rank that waits in a collective, this one or
/// another, or runs a pass replies. After a grace period the asking rank names those that did not reply and
/// aborts the job with status 6. If all replied and one computes, the timeout starts anew; if none computes,
/// it names those that are in another collective. Ranks ask one after another, the lowest first, and a rank
/// that was asked by a lower one leaves the report to that rank, so that one line is printed. A collective
/// that completes within the grace period is in time. No step blocks.
///
/// Whatever the timeout, a waiting rank also notifies departed ranks: a departed rank that never made this
/// call ends the job.
class Watchdog {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr std::chrono::seconds grace = grace_of_watchdogs;

  /// `start`: when this rank entered `here`.
  Watchdog(RankGroup& group, MPI_Comm comm, const CollectiveCall& here, const WatchdogTimeouts& timeouts,
           Clock::time_point start);

  /// Asks, replies, or ends the job, when it is time to. Does not block.
  void step();

 private:
  /// Leaves the inquiry to another rank.
  void yield_to(int rank, Clock::time_point now);
  void inquire(Clock::time_point now);
  void evaluate(Clock::time_point now);
  /// Withdraws the inquiry; the timeout starts anew at `start`.
  void restart(Clock::time_point start);
  [[nodiscard]] Clock::time_point deadline_from(Clock::time_point start) const;
  [[nodiscard]] std::chrono::milliseconds timeout() const noexcept;
  [[noreturn]] void end(const std::string& what_is_wrong) const;

  RankGroup& group_;
  MPI_Comm comm_;
  std::shared_ptr<const Message> here_;
  WatchdogTimeouts timeouts_;
  bool has_noticed_;  // whether the notice is printed, or none is wanted
  Clock::time_point start_;
  Clock::time_point deadline_;
  std::optional<Clock::time_point> asked_;            // when this rank sent its inquiry
  std::vector<int> members_;                          // recipients of the inquiry, as ranks of the group
  std::vector<std::optional<CollectiveCall>> where_;  // the replies, by rank of the group
};

/// Runs what a rank does while it waits; false if memory ran out. The wait then goes on: an exception would
/// leave its request in flight, and this rank one collective behind the others.
template <class Step>
[[nodiscard]] bool has_memory_for(const Step& step) {
  try {
    step();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace TESSERA_NAMESPACE::mpi::detail

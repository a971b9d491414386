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

struct WatchdogTimeouts {
  std::chrono::milliseconds timeout{};  ///< 0: no limit
  /// Time after which a notice names missing ranks, and `timeout` begins; 0: no notice.
  std::chrono::milliseconds notice{};
  bool only_silence = false;  ///< whether only ranks that do not reply end the job
};

/// Detects a deadlock in a collective call: ends the job with the names of the ranks that do not take part.
///
/// A rank that waits in a collective calls `step` repeatedly. When the timeout expires, the rank sends
/// inquiries to the other members of the communicator. Every rank that waits in any collective, or runs a
/// pass, replies. After a grace period the inquirer aborts the job with status 6 and names the ranks that did
/// not reply. If all replied and one computes, the timeout restarts; if none computes, the inquirer names the
/// ranks that are in another collective. Timeouts are staggered by rank, and a rank yields to an inquirer of
/// lower rank, so that only one line is printed. No step blocks.
///
/// Independently of the timeout, a waiting rank notifies departed ranks. A departed rank that never made this
/// call ends the job.
class Watchdog {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr std::chrono::seconds grace = grace_of_watchdogs;

  /// `start`: when this rank entered `here`.
  Watchdog(RankGroup& group, MPI_Comm comm, const CollectiveCall& here, const WatchdogTimeouts& timeouts,
           Clock::time_point start);

  /// Sends inquiries, replies, or ends the job, as necessary. Does not block.
  void step();

 private:
  void yield_to(int rank, Clock::time_point now);
  void inquire(Clock::time_point now);
  void evaluate(Clock::time_point now);
  /// Cancels the inquiry, and restarts the timeout at `start`.
  void restart(Clock::time_point start);
  [[nodiscard]] Clock::time_point deadline_from(Clock::time_point start) const;
  [[nodiscard]] std::chrono::milliseconds timeout() const noexcept;
  [[noreturn]] void end(const std::string& what_is_wrong) const;

  RankGroup& group_;
  MPI_Comm comm_;
  std::shared_ptr<const Message> here_;
  WatchdogTimeouts timeouts_;
  bool has_noticed_;  // whether the notice was printed or is disabled
  Clock::time_point start_;
  Clock::time_point deadline_;
  std::optional<Clock::time_point> asked_;            // time of this rank's inquiry
  std::vector<int> members_;                          // recipients of the inquiry, in the group's numbering
  std::vector<std::optional<CollectiveCall>> where_;  // the replies, by rank of the group
};

/// Runs `step`; false if memory ran out. The wait must continue even then: an exception would leave the
/// request in flight, and this rank one collective behind the others.
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

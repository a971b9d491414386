// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace TESSERA_NAMESPACE::mpi {

class Communicator;

namespace detail {

/// Ends the job with a line on standard error and status 6 unless it is destroyed in time: for blocking calls
/// during which this rank cannot reply to a watchdog, or in which all ranks block. Time in which the process
/// is stopped does not count. Ends only this process, without an MPI call, since another thread may be in
/// one; the launcher ends the other ranks. A job's time limit is `StopOptions::time_limit`.
class TimeLimit {
 public:
  /// 0: no limit. There is no limit either if no thread can be started.
  TimeLimit(std::chrono::milliseconds time, std::string line);
  /// For a call of only this rank, `what`: "the discovery of the hardware". The limit is the timeout of the
  /// collectives of `comm`, plus some seconds for a loaded machine; none in the process of another program.
  TimeLimit(const Communicator& comm, const std::string& what);
  ~TimeLimit();
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

  void restart() noexcept;

 private:
  void watch() noexcept;

  std::chrono::milliseconds time_;
  std::string line_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::chrono::steady_clock::duration passed_{};
  std::thread thread_;
};

/// How long MPI may take to start.
struct StartTimeout {
  std::chrono::milliseconds time = std::chrono::minutes(10);  ///< 0: no limit
  std::string problem;  ///< what is wrong with TESSERA_START_TIMEOUT; empty: nothing
};
/// TESSERA_START_TIMEOUT, in seconds. A problem can be reported to other ranks only after MPI has started;
/// until then the default applies.
[[nodiscard]] StartTimeout start_timeout();

/// The limit for the start of MPI. The line names the rank if the launcher's environment shows it.
[[nodiscard]] std::unique_ptr<TimeLimit> limit_of_start(const StartTimeout& timeout);

/// Time that a watchdog allows for replies: enough for a message in a very busy job.
inline constexpr std::chrono::seconds grace_of_watchdogs{2};

/// A delay that grows with the rank, so that not all ranks report at once.
[[nodiscard]] std::chrono::milliseconds stagger_of(int rank);

}  // namespace detail
}  // namespace TESSERA_NAMESPACE::mpi

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

/// Ends this process with a line on standard error and status 6 unless the object is destroyed in time.
/// Protects blocking calls during which the rank cannot reply to a watchdog. Time in which the process is
/// stopped does not count. Makes no MPI call, because another thread may be in one; the launcher then ends
/// the other ranks. Not the time limit of a job, which is `StopOptions::time_limit`.
class TimeLimit {
 public:
  /// `time` 0: no limit. If no thread can be started, there is no limit either.
  TimeLimit(std::chrono::milliseconds time, std::string line);
  /// For a non-collective call described by `what`, such as "the discovery of the hardware". The limit is the
  /// timeout of `comm` plus some seconds for a loaded machine; no limit if a host program owns the process.
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

/// Time limit of MPI_Init.
struct StartTimeout {
  std::chrono::milliseconds time = std::chrono::minutes(10);  ///< 0: no limit
  std::string problem;                                        ///< error in TESSERA_START_TIMEOUT; empty: none
};
/// Reads TESSERA_START_TIMEOUT, in seconds. An invalid value gives the default; the error is reported once
/// MPI has started.
[[nodiscard]] StartTimeout start_timeout();

/// The message names the rank if the launcher's environment has it.
[[nodiscard]] std::unique_ptr<TimeLimit> limit_of_start(const StartTimeout& timeout);

/// Time that a watchdog allows for replies: enough for a round trip of messages in a very busy job.
inline constexpr std::chrono::seconds grace_of_watchdogs{2};

/// A delay that grows with the rank, so that not all ranks report at once.
[[nodiscard]] std::chrono::milliseconds stagger_of(int rank);

}  // namespace detail
}  // namespace TESSERA_NAMESPACE::mpi

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace tessera::inline TESSERA_ABI::mpi {

class Communicator;

namespace detail {

/// Ends the job unless it is destroyed in time, with a line on standard error and status 6: for calls that
/// block where no other rank can ask this one, or all ranks block alike. Time in which the process is stopped
/// does not count. Ends the process alone, without MPI, which another thread may be in: the launcher ends the
/// others.
class TimeLimit {
 public:
  /// 0: no limit. Where the system grants no thread, there is none either.
  TimeLimit(std::chrono::milliseconds time, std::string line);
  /// For a call of this rank alone, `what`: "the discovery of the hardware". It may take as long as a
  /// collective of `comm`, and some seconds that a loaded machine may take.
  TimeLimit(const Communicator& comm, const std::string& what);
  ~TimeLimit();
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

  /// The time begins anew.
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
  std::string problem;  ///< what is wrong with TESSERA_START_TIMEOUT; empty if nothing is
};
/// TESSERA_START_TIMEOUT, in seconds. Other ranks can be told of a problem only once MPI has started, so that
/// until then the time is as if nothing were given.
[[nodiscard]] StartTimeout start_timeout();

/// Of the start of MPI. Its line says who waits as far as the launcher's environment tells.
[[nodiscard]] std::unique_ptr<TimeLimit> limit_of_start(const StartTimeout& timeout);

/// Later for higher ranks, so that not all speak at once.
[[nodiscard]] std::chrono::milliseconds lateness_of(int rank);

}  // namespace detail
}  // namespace tessera::inline TESSERA_ABI::mpi

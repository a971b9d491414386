// SPDX-License-Identifier: Apache-2.0
#include "mpi/time_limit.hpp"

#include "base/number.hpp"
#include "base/signals_blocked.hpp"
#include "mpi/abort.hpp"
#include "mpi/communicator_access.hpp"
#include "mpi/launcher.hpp"

#include <tessera/error.hpp>
#include <tessera/mpi/launcher.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace TESSERA_NAMESPACE::mpi::detail {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr const char* start_timeout_variable = "TESSERA_START_TIMEOUT";

/// Added to the timeout of collectives, because a loaded machine may take seconds for milliseconds of work.
constexpr std::chrono::milliseconds of_a_loaded_machine = 5s;

std::string line_of(const Communicator& comm, const std::string& what, std::chrono::milliseconds time) {
  return CommunicatorAccess::name_of_rank(comm) + " has been in " + what + " for " + seconds(time) +
         ": check the devices and file systems of this node; the job is ended";
}

std::chrono::milliseconds local_time(const Communicator& comm) {
  if (comm.timeout().count() == 0 || !CommunicatorAccess::owns_process(comm)) return 0ms;
  return comm.timeout() + of_a_loaded_machine;
}

std::string late_start(int rank, std::chrono::milliseconds time) {
  return (rank >= 0 ? "rank " + std::to_string(rank) : std::string("a rank")) + " (" + host_name() +
         ") has waited " + seconds(time) +
         " for all ranks to start MPI: check for stopped ranks and unreachable nodes, or allow more time "
         "by " +
         start_timeout_variable + "=SECONDS (0: no limit); the job is ended";
}

}  // namespace

TimeLimit::TimeLimit(std::chrono::milliseconds time, std::string line) : time_(time), line_(std::move(line)) {
  if (time_.count() == 0) return;
  const base::SignalsBlocked blocked;
  try {
    thread_ = std::thread([this] { watch(); });
  } catch (const std::system_error&) {
    // Without a thread there is no time limit.
  }
}

TimeLimit::TimeLimit(const Communicator& comm, const std::string& what)
    : TimeLimit(local_time(comm), line_of(comm, what, local_time(comm))) {}

TimeLimit::~TimeLimit() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void TimeLimit::restart() noexcept {
  const std::lock_guard lock(mutex_);
  passed_ = {};
}

void TimeLimit::watch() noexcept {
  // Counts at most twice the intended time of a wait: a longer wait means that the process was stopped.
  const auto between_looks = std::clamp<Clock::duration>(time_ / 10, 1ms, 1s);
  std::unique_lock lock(mutex_);
  while (passed_ < time_) {
    const auto before = Clock::now();
    if (changed_.wait_for(lock, between_looks, [this] { return over_; })) return;
    passed_ += std::min<Clock::duration>(Clock::now() - before, 2 * between_looks);
  }
  say(line_);
  std::_Exit(exit_status(ErrorCode::job_fault));
}

std::chrono::milliseconds stagger_of(int rank) {
  return std::clamp(rank, 0, 1000) * 50ms;
}

StartTimeout start_timeout() {
  StartTimeout timeout;
  const char* const text = std::getenv(start_timeout_variable);
  if (text == nullptr || *text == '\0') return timeout;
  const auto given = base::parse_number<double>(text);
  if (!given || !(*given >= 0 && *given <= 1e9))
    timeout.problem = std::string(start_timeout_variable) + "=\"" + text +
                      "\" is not a number of seconds: give 0 (no limit) to 1e9";
  else
    timeout.time = std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(1000 * *given)));
  return timeout;
}

std::unique_ptr<TimeLimit> limit_of_start(const StartTimeout& timeout) {
  const std::chrono::milliseconds time = timeout.time;
  const int rank = launched_rank();
  return std::make_unique<TimeLimit>(time.count() == 0 ? time : time + stagger_of(rank),
                                     late_start(rank, time));
}

}  // namespace TESSERA_NAMESPACE::mpi::detail

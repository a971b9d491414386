// SPDX-License-Identifier: Apache-2.0
#include <tessera/job/stop_request.hpp>

#include "job/consensus/alarm.hpp"
#include "job/consensus/signal_handlers.hpp"
#include "mpi/abort.hpp"
#include "mpi/clamped_time.hpp"
#include "mpi/communicator_access.hpp"

#include <tessera/error.hpp>
#include <tessera/job/together.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <utility>

namespace TESSERA_NAMESPACE {
namespace {

using Access = mpi::detail::CommunicatorAccess;
using Clock = std::chrono::steady_clock;

/// Minimum time between checks of the signal handlers, so that the cost of system calls is negligible.
constexpr std::chrono::milliseconds check_interval{10};

StopOptions checked(StopOptions options) {
  if (options.time_limit.count() < 0)
    throw Error(ErrorCode::usage,
                "StopOptions::time_limit is negative: give a positive time, or 0 for no limit");
  options.time_limit = mpi::detail::clamped_time(options.time_limit);
  return options;
}

}  // namespace

struct StopRequest::State {
  State(const mpi::Communicator& from, const StopOptions& chosen) : comm(from.duplicate()), alarm(comm) {
    begin(chosen);
  }

  /// *Collective.* Throws on every rank if one rank fails.
  void begin(const StopOptions& chosen) {
    const mpi::Purpose purpose(comm, "the making of the stop request");
    together(comm, [&] {
      options = checked(chosen);
      if (!Access::owns_process(comm)) options.signals.clear();
      handlers.emplace(options.signals);
    });
  }

  /// Empty if there is no request on this rank.
  [[nodiscard]] std::string own_cause() const {
    const std::string here = " on rank " + std::to_string(comm.rank());
    if (const int signal = handlers->caught(); signal != 0) return name_of_signal(signal) + here;
    {
      const std::lock_guard lock(mutex);
      if (!requested.empty()) return requested + here;
    }
    return time_is_up() ? "the time limit of " + mpi::detail::seconds(options.time_limit) : std::string();
  }
  /// Calls `reinstall` at most once per interval.
  void check_handlers() {
    const auto now = Clock::now();
    if (now < next_check) return;
    next_check = now + check_interval;
    handlers->reinstall(comm.rank());
  }
  [[nodiscard]] bool time_is_up() const noexcept {
    return options.time_limit.count() > 0 && Clock::now() - start >= options.time_limit;
  }

  StopOptions options;
  mpi::Communicator comm;
  Alarm alarm;
  std::optional<SignalHandlers> handlers;
  Clock::time_point start = Clock::now();
  Clock::time_point next_check = start;
  mutable std::mutex mutex;
  std::string requested;  // the application's cause; guarded by `mutex`
  mutable std::atomic<bool> made = false;
  bool spread = false;  // whether this rank has sent or received the alarm
  bool agreed = false;
  std::string cause;
};

StopRequest::StopRequest(const mpi::Communicator& comm, const StopOptions& options)
    : state_(std::make_unique<State>(comm, options)) {}
StopRequest::~StopRequest() = default;

void StopRequest::request(std::string cause) {
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->requested.empty()) state_->requested = cause.empty() ? "the application" : std::move(cause);
  }
  state_->made = true;
}

bool StopRequest::requested() const noexcept {
  const State& state = *state_;
  if (state.made.load(std::memory_order_relaxed)) return true;
  if (state.handlers->caught() == 0 && !state.time_is_up()) return false;
  state.made = true;
  return true;
}

void StopRequest::poll() {
  State& state = *state_;
  Access::require_usable(state.comm);
  state.check_handlers();
  if (state.spread || state.agreed) return;
  // Does not forward the alarm, because the rank with the request has notified all ranks.
  if (state.alarm.rang()) {
    state.made = true;
    state.spread = true;
  } else if (requested()) {
    state.alarm.raise();
    state.spread = true;
  }
}

bool StopRequest::agree() {
  State& state = *state_;
  if (state.agreed) return true;
  Access::require_usable(state.comm);
  state.handlers->reinstall(state.comm.rank());
  const auto& comm = state.comm;
  const mpi::Purpose purpose(comm, "the agreement to stop");
  if (comm.allreduce<std::int32_t>(requested() ? 1 : 0, mpi::Reduction::max) == 0) return false;
  state.made = true;
  state.agreed = true;
  state.alarm.reset();
  const std::string mine = state.own_cause();
  const int first =
      comm.allreduce<std::int32_t>(mine.empty() ? comm.size() : comm.rank(), mpi::Reduction::min);
  state.cause = comm.broadcast_text(mine, std::min(first, comm.size() - 1));
  return true;
}

bool StopRequest::agreed() const noexcept {
  return state_->agreed;
}
const std::string& StopRequest::cause() const noexcept {
  return state_->cause;
}
bool StopRequest::has_ranks_of(const mpi::Communicator& comm) const {
  return Access::have_same_ranks(state_->comm, comm);
}

}  // namespace TESSERA_NAMESPACE

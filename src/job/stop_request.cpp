// SPDX-License-Identifier: Apache-2.0
#include <tessera/job/stop_request.hpp>

#include "job/alarm.hpp"
#include "job/attempt.hpp"

#include <tessera/error.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

/// How often it is seen to that signals are still caught.
constexpr std::chrono::milliseconds between_keepings{100};

// Signals are the process's, and a handler can reach nothing but globals.
std::atomic<int> caught_signal = 0;
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler must not wait for a lock");
std::atomic<bool> signals_are_taken = false;

using PlainHandler = void (*)(int);
using InformedHandler = void (*)(int, siginfo_t*, void*);

/// The application's handler of a signal: one of the two, or neither.
struct Chained {
  std::atomic<PlainHandler> plain = nullptr;
  std::atomic<InformedHandler> informed = nullptr;
  std::atomic<bool> is_inside = false;  ///< one that calls the handler that it found is called once
};
static_assert(std::atomic<PlainHandler>::is_always_lock_free);
std::array<Chained, NSIG> chained;

extern "C" void catch_signal(int signal, siginfo_t* info, void* context) {
  int none = 0;
  caught_signal.compare_exchange_strong(none, signal);
  Chained& theirs = chained.at(static_cast<std::size_t>(signal));
  if (theirs.is_inside.exchange(true)) return;
  if (const PlainHandler plain = theirs.plain) plain(signal);
  if (const InformedHandler informed = theirs.informed) informed(signal, info, context);
  theirs.is_inside = false;
}

std::string name_of(int signal) {
  switch (signal) {
    case SIGUSR1: return "SIGUSR1";
    case SIGUSR2: return "SIGUSR2";
    case SIGTERM: return "SIGTERM";
    case SIGINT: return "SIGINT";
    case SIGHUP: return "SIGHUP";
    default: return "signal " + std::to_string(signal);
  }
}

/// Owns the handlers of some signals, and restores those of the application.
class SignalHandlers {
 public:
  explicit SignalHandlers(const std::vector<int>& signals) {
    if (signals.empty()) return;
    if (signals_are_taken.exchange(true))
      throw Error(ErrorCode::usage, "another StopRequest catches signals: only one can, at a time");
    caught_signal = 0;
    owner_ = true;
    for (const int signal : signals) {
      taken_.push_back({.signal = signal, .theirs = {}});
      if (signal < 1 || signal >= NSIG || !take(taken_.back())) {
        taken_.pop_back();
        restore();
        throw Error(ErrorCode::usage, "signal " + std::to_string(signal) + " cannot be caught");
      }
    }
  }
  ~SignalHandlers() { restore(); }
  SignalHandlers(const SignalHandlers&) = delete;
  SignalHandlers& operator=(const SignalHandlers&) = delete;

  [[nodiscard]] int caught() const noexcept { return owner_ ? caught_signal.load() : 0; }

  /// Takes back, and chains, what the application has set since; says so once for each signal.
  void keep(int rank) {
    for (Taken& its : taken_) {
      if (is_ours(its.signal) || !take(its) || std::exchange(its.was_lost, true)) continue;
      std::fprintf(
          stderr,
          "tessera: rank %d: another handler of %s was set while a StopRequest catches it: both are called "
          "now; set handlers before the request is made, or leave the signal out of StopOptions::signals\n",
          rank, name_of(its.signal).c_str());
    }
  }

 private:
  struct Taken {
    int signal = 0;
    struct sigaction theirs {};
    bool was_lost = false;
  };

  [[nodiscard]] static bool is_ours(int signal) noexcept {
    struct sigaction now {};
    return sigaction(signal, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 &&
           now.sa_sigaction == &catch_signal;
  }

  /// Sets our handler before that of the application.
  static bool take(Taken& its) noexcept {
    struct sigaction theirs {};
    if (sigaction(its.signal, nullptr, &theirs) != 0) return false;
    const bool informed = (theirs.sa_flags & SA_SIGINFO) != 0;
    const bool plain = !informed && theirs.sa_handler != SIG_DFL && theirs.sa_handler != SIG_IGN;
    Chained& chain = chained.at(static_cast<std::size_t>(its.signal));
    chain.plain = plain ? theirs.sa_handler : nullptr;
    chain.informed = informed ? theirs.sa_sigaction : nullptr;
    struct sigaction ours {};
    ours.sa_sigaction = &catch_signal;
    ours.sa_flags = SA_SIGINFO | SA_RESTART | (theirs.sa_flags & SA_ONSTACK);
    ours.sa_mask = theirs.sa_mask;
    if (sigaction(its.signal, &ours, nullptr) != 0) return false;
    its.theirs = theirs;
    return true;
  }

  void restore() noexcept {
    for (auto last = taken_.rbegin(); last != taken_.rend(); ++last) {
      // One that was set since the last look stays.
      if (is_ours(last->signal)) sigaction(last->signal, &last->theirs, nullptr);
      Chained& chain = chained.at(static_cast<std::size_t>(last->signal));
      chain.plain = nullptr;
      chain.informed = nullptr;
    }
    taken_.clear();
    if (std::exchange(owner_, false)) signals_are_taken = false;
  }

  bool owner_ = false;
  std::vector<Taken> taken_;
};

std::string seconds(std::chrono::milliseconds time) {
  const auto ms = time.count();
  return ms % 1000 == 0 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms";
}

StopOptions checked(StopOptions options) {
  if (options.time_limit.count() < 0)
    throw Error(ErrorCode::usage, "StopOptions::time_limit is negative: give a time, or 0 for no limit");
  options.time_limit = mpi::detail::within_clocks(options.time_limit);
  return options;
}

}  // namespace

struct StopRequest::State {
  State(const mpi::Communicator& from, const StopOptions& chosen)
      : comm(from.duplicate()), waiting(from.duplicate()), alarm(comm) {
    begin(chosen);
  }

  /// *Collective.* Takes the options and the signals; a rank that cannot does not leave the others behind.
  void begin(const StopOptions& chosen) {
    std::exception_ptr thrown;
    try {
      options = checked(chosen);
      handlers.emplace(options.signals);
    } catch (...) {
      thrown = std::current_exception();
    }
    const mpi::Purpose purpose(comm, "the making of the stop request");
    const int first = comm.allreduce<std::int32_t>(thrown ? comm.rank() : comm.size(), mpi::Reduction::min);
    if (first == comm.size()) return;
    const std::string reason = comm.broadcast_text(thrown ? reason_of(thrown) : std::string(), first);
    if (thrown) std::rethrow_exception(thrown);
    throw Error(ErrorCode::job_fault,
                "rank " + std::to_string(first) + " failed in the making of the stop request: " + reason);
  }

  /// Why this rank itself was asked; empty if it was not.
  [[nodiscard]] std::string own_cause() const {
    const std::string here = " on rank " + std::to_string(comm.rank());
    if (const int signal = handlers->caught(); signal != 0) return name_of(signal) + here;
    {
      const std::lock_guard lock(mutex);
      if (!requested.empty()) return requested + here;
    }
    return time_is_up() ? "the time limit of " + seconds(options.time_limit) : std::string();
  }
  /// Sees to the signals, from time to time.
  void keep_signals() {
    const auto now = Clock::now();
    if (now < next_keeping) return;
    next_keeping = now + between_keepings;
    handlers->keep(comm.rank());
  }
  [[nodiscard]] bool time_is_up() const noexcept {
    return options.time_limit.count() > 0 && Clock::now() - start >= options.time_limit;
  }

  StopOptions options;
  mpi::Communicator comm;
  mpi::Communicator waiting;  // of `wait_for_all`, whose ranks look while they wait
  Alarm alarm;
  std::optional<SignalHandlers> handlers;
  Clock::time_point start = Clock::now();
  Clock::time_point next_keeping = start;
  mutable std::mutex mutex;
  std::string requested;  // by the application; under the mutex
  mutable std::atomic<bool> made = false;
  bool spread = false;  // this rank has told the others, or another has told it
  bool agreed = false;
  std::string cause;
};

StopRequest::StopRequest(const mpi::Communicator& comm, StopOptions options)
    : state_(std::make_unique<State>(comm, options)) {
  state_->waiting.set_meanwhile([this] { look(); });
}
StopRequest::~StopRequest() = default;

void StopRequest::request(std::string cause) {
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->requested.empty()) state_->requested = cause.empty() ? "the application" : std::move(cause);
  }
  state_->made = true;
}

bool StopRequest::made() const noexcept {
  const State& state = *state_;
  if (state.made.load(std::memory_order_relaxed)) return true;
  if (state.handlers->caught() == 0 && !state.time_is_up()) return false;
  state.made = true;
  return true;
}

void StopRequest::look() {
  State& state = *state_;
  (void)mpi::detail::usable(state.comm);
  state.keep_signals();
  if (state.spread || state.agreed) return;
  // Who has been told need not tell: the rank that did tells everybody.
  if (state.alarm.rang()) {
    state.made = true;
    state.spread = true;
  } else if (made()) {
    state.alarm.raise();
    state.spread = true;
  }
}

void StopRequest::wait_for_all() {
  state_->waiting.barrier();
}

bool StopRequest::agree() {
  State& state = *state_;
  if (state.agreed) return true;
  (void)mpi::detail::usable(state.comm);
  state.handlers->keep(state.comm.rank());
  const auto& comm = state.comm;
  const mpi::Purpose purpose(comm, "the agreement to stop");
  if (comm.allreduce<std::int32_t>(made() ? 1 : 0, mpi::Reduction::max) == 0) return false;
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
int StopRequest::ranks() const noexcept {
  return state_->comm.size();
}

}  // namespace tessera

// SPDX-License-Identifier: Apache-2.0
#include "job/consensus/signal_handlers.hpp"

#include "mpi/abort.hpp"

#include <tessera/error.hpp>

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <string>
#include <utility>

namespace tessera::inline TESSERA_ABI {
namespace {

using PlainHandler = void (*)(int);
using InformedHandler = void (*)(int, siginfo_t*, void*);
using Action = struct sigaction;

static_assert(std::atomic<int>::is_always_lock_free, "a signal handler must not wait for a lock");
static_assert(std::atomic<std::int64_t>::is_always_lock_free);
static_assert(std::atomic<PlainHandler>::is_always_lock_free);
static_assert(std::atomic<InformedHandler>::is_always_lock_free);
static_assert(std::atomic<pthread_t>::is_always_lock_free);

/// More handlers of one signal than this, set one on the other, are not told apart.
constexpr int most_levels = 8;

[[nodiscard]] PlainHandler plain_of(const Action& action) noexcept {
  const bool plain = (action.sa_flags & SA_SIGINFO) == 0;
  return plain && action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN ? action.sa_handler : nullptr;
}
[[nodiscard]] InformedHandler informed_of(const Action& action) noexcept {
  return (action.sa_flags & SA_SIGINFO) != 0 ? action.sa_sigaction : nullptr;
}

/// A handler of the application's: one of the two, or neither.
struct Level {
  std::atomic<PlainHandler> plain = nullptr;
  std::atomic<InformedHandler> informed = nullptr;
  std::atomic<int> before = 0;         ///< the level that was in place when it was set; -1: none
  std::atomic<pthread_t> inside = {};  ///< the thread that is in it
  Action action{};                     ///< as the application set it

  [[nodiscard]] bool calls(const Action& other) const noexcept {
    return plain == plain_of(other) && informed == informed_of(other);
  }
};

/// The handlers of one signal that were ever found in place of ours. Each has a function of ours of its own,
/// by number, that calls it, and that the next handler finds: so that calling what it found reaches the one
/// before it, whatever has been set since.
struct Chain {
  std::array<Level, most_levels> levels;
  int used = 0;
  std::atomic<bool> is_caught = false;  ///< now

  /// The level of a handler that was found where that of `before` had been.
  [[nodiscard]] int level_of(const Action& found, int before) noexcept {
    int level = 0;
    while (level < used && !at(level).calls(found)) ++level;
    if (level == used) {
      level = std::min(used, most_levels - 1);
      used = level + 1;
      at(level).before = std::min(before, level - 1);
      at(level).plain = plain_of(found);
      at(level).informed = informed_of(found);
    }
    at(level).action = found;
    return level;
  }
  [[nodiscard]] Level& at(int level) noexcept { return levels.at(static_cast<std::size_t>(level)); }

  /// Whether the application has a handler there, or ignores the signal: then it decides what a second one
  /// does.
  [[nodiscard]] bool has_theirs(int level) noexcept {
    for (; level >= 0; level = at(level).before) {
      if (at(level).plain != nullptr || at(level).informed != nullptr) return true;
      if ((at(level).action.sa_flags & SA_SIGINFO) == 0 && at(level).action.sa_handler == SIG_IGN)
        return true;
    }
    return false;
  }

  void call(int level, int signal, siginfo_t* info, void* context) noexcept {
    const pthread_t me = pthread_self();
    Action in_place{};
    (void)sigaction(signal, nullptr, &in_place);
    // A handler that was set twice finds the function that calls it: then it is the turn of the one before.
    while (level >= 0 && (at(level).inside == me || at(level).calls(in_place))) level = at(level).before;
    if (level < 0) return;
    Level& its = at(level);
    const pthread_t other = its.inside.exchange(me);
    if (const PlainHandler plain = its.plain) plain(signal);
    if (const InformedHandler informed = its.informed) informed(signal, info, context);
    its.inside = other;
  }
};

// Signals are the process's, and a handler can reach nothing but globals.
std::atomic<int> caught_signal = 0;
std::atomic<bool> signals_are_taken = false;
std::atomic<std::int64_t> asked_at_ns = 0;  // by SIGTERM or SIGINT, for the first time
std::array<Chain, NSIG> chains;

[[nodiscard]] Chain& chain_of(int signal) noexcept {
  return chains.at(static_cast<std::size_t>(signal));
}

/// The nanoseconds of a clock that a handler may read.
std::int64_t now_ns() noexcept {
  timespec now{};
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

/// Whether this is the second time that the process is asked to end: not where one request comes by two ways,
/// as from Slurm and from its srun, which takes moments.
bool asks_again(int signal) noexcept {
  if (signal != SIGTERM && signal != SIGINT) return false;
  std::int64_t first = 0;
  const std::int64_t now = now_ns();
  return !asked_at_ns.compare_exchange_strong(first, now) && now - first > 1'000'000'000;
}

/// As if no handler had been set.
void end_by(int signal) noexcept {
  (void)::signal(signal, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  (void)pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  (void)std::raise(signal);
}

template <int level>
void catch_signal(int signal, siginfo_t* info, void* context) {
  Chain& chain = chain_of(signal);
  int none = 0;
  if (chain.is_caught) {
    caught_signal.compare_exchange_strong(none, signal);
    if (asks_again(signal) && !chain.has_theirs(level)) end_by(signal);
  }
  chain.call(level, signal, info, context);
}

template <int... levels>
constexpr std::array<InformedHandler, most_levels> catchers_of(
    std::integer_sequence<int, levels...> /*all*/) {
  return {&catch_signal<levels>...};
}
constexpr auto catchers = catchers_of(std::make_integer_sequence<int, most_levels>());

/// The level whose function of ours is in place, be it as the application found it and put it back; -1: none.
int own_level(const Action& now) noexcept {
  // `signal` returns one as a plain handler, and sets it as one.
  using Any = void (*)();
  // NOLINTBEGIN(*-reinterpret-cast)
  const Any there = (now.sa_flags & SA_SIGINFO) != 0 ? reinterpret_cast<Any>(now.sa_sigaction)
                                                     : reinterpret_cast<Any>(now.sa_handler);
  const auto* const at =
      std::ranges::find(catchers, there, [](InformedHandler ours) { return reinterpret_cast<Any>(ours); });
  // NOLINTEND(*-reinterpret-cast)
  return at == catchers.end() ? -1 : static_cast<int>(at - catchers.begin());
}

bool is_in_place(const Action& now, int level) noexcept {
  return own_level(now) == level && (now.sa_flags & SA_SIGINFO) != 0;
}

}  // namespace

SignalHandlers::SignalHandlers(const std::vector<int>& signals) {
  if (signals.empty()) return;
  if (signals_are_taken.exchange(true))
    throw Error(ErrorCode::usage, "another StopRequest catches signals: only one can, at a time");
  caught_signal = 0;
  asked_at_ns = 0;
  owner_ = true;
  for (const int signal : signals) {
    taken_.push_back({.signal = signal});
    if (signal < 1 || signal >= NSIG || !take(taken_.back())) {
      taken_.pop_back();
      restore();
      throw Error(ErrorCode::usage, "signal " + std::to_string(signal) + " cannot be caught");
    }
  }
}

SignalHandlers::~SignalHandlers() {
  restore();
}

int SignalHandlers::caught() const noexcept {
  return owner_ ? caught_signal.load() : 0;
}

void SignalHandlers::keep(int rank) {
  for (Taken& its : taken_) {
    Action now{};
    if (sigaction(its.signal, nullptr, &now) != 0 || is_in_place(now, its.level)) continue;
    const bool is_theirs = own_level(now) < 0;
    if (!take(its) || !is_theirs || std::exchange(its.was_lost, true)) continue;
    const std::string name = name_of_signal(its.signal);
    const bool is_handler = plain_of(now) != nullptr || informed_of(now) != nullptr;
    const std::string what =
        is_handler ? "another handler of " + name +
                         " was set while a StopRequest catches it: both are called now, the request's first"
                   : name +
                         " was set to be ignored, or to its default, while a StopRequest catches it: the "
                         "request catches it again";
    mpi::detail::say("rank " + std::to_string(rank) + ": " + what +
                     "; set handlers before the request is made, or leave the signal out of "
                     "StopOptions::signals");
  }
}

/// Sets our handler before that of the application.
bool SignalHandlers::take(Taken& its) noexcept {
  Action found{};
  if (sigaction(its.signal, nullptr, &found) != 0) return false;
  Chain& chain = chain_of(its.signal);
  const int own = own_level(found);
  const int level = own >= 0 ? own : chain.level_of(found, its.level);
  const Action& theirs = chain.at(level).action;
  Action ours{};
  ours.sa_sigaction = catchers.at(static_cast<std::size_t>(level));
  ours.sa_flags = SA_SIGINFO | SA_RESTART | (theirs.sa_flags & SA_ONSTACK);
  ours.sa_mask = theirs.sa_mask;
  chain.is_caught = true;
  if (sigaction(its.signal, &ours, nullptr) != 0) {
    chain.is_caught = false;
    return false;
  }
  its.level = level;
  return true;
}

void SignalHandlers::restore() noexcept {
  for (auto last = taken_.rbegin(); last != taken_.rend(); ++last) {
    Chain& chain = chain_of(last->signal);
    Action now{};
    // One that was set since the last look stays.
    const int own = sigaction(last->signal, nullptr, &now) == 0 ? own_level(now) : -1;
    if (own >= 0) sigaction(last->signal, &chain.at(own).action, nullptr);
    chain.is_caught = false;
  }
  taken_.clear();
  if (std::exchange(owner_, false)) signals_are_taken = false;
}

std::string name_of_signal(int signal) {
  switch (signal) {
    case SIGUSR1: return "SIGUSR1";
    case SIGUSR2: return "SIGUSR2";
    case SIGTERM: return "SIGTERM";
    case SIGINT: return "SIGINT";
    case SIGHUP: return "SIGHUP";
    default: return "signal " + std::to_string(signal);
  }
}

}  // namespace tessera::inline TESSERA_ABI

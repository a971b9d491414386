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
#include <utility>

namespace TESSERA_NAMESPACE {
namespace {

using SimpleHandler = void (*)(int);
using InfoHandler = void (*)(int, siginfo_t*, void*);
using Action = struct sigaction;

static_assert(std::atomic<int>::is_always_lock_free, "a signal handler must not wait for a lock");
static_assert(std::atomic<std::int64_t>::is_always_lock_free);
static_assert(std::atomic<SimpleHandler>::is_always_lock_free);
static_assert(std::atomic<InfoHandler>::is_always_lock_free);
static_assert(std::atomic<pthread_t>::is_always_lock_free);

/// Maximum number of an application's handlers per signal; further handlers share the last level.
constexpr int max_levels = 8;

[[nodiscard]] SimpleHandler simple_handler_of(const Action& action) noexcept {
  const bool simple = (action.sa_flags & SA_SIGINFO) == 0;
  return simple && action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN ? action.sa_handler : nullptr;
}
[[nodiscard]] InfoHandler info_handler_of(const Action& action) noexcept {
  return (action.sa_flags & SA_SIGINFO) != 0 ? action.sa_sigaction : nullptr;
}

/// A handler of the application, in one of the two forms of sigaction(2); both null: none.
struct Level {
  std::atomic<SimpleHandler> simple_handler = nullptr;
  std::atomic<InfoHandler> info_handler = nullptr;
  std::atomic<int> before = 0;         ///< the previous level; -1: none
  std::atomic<pthread_t> inside = {};  ///< the thread that runs the handler
  Action action{};                     ///< the application's action

  [[nodiscard]] bool calls(const Action& other) const noexcept {
    return simple_handler == simple_handler_of(other) && info_handler == info_handler_of(other);
  }
};

/// The application's handlers of one signal, in order of installation. Each level has its own catcher, our
/// function that calls the level's handler. A later handler that calls its predecessor thus reaches the right
/// level.
struct Chain {
  std::array<Level, max_levels> levels;
  int used = 0;
  std::atomic<bool> is_caught = false;

  /// Returns the level of handler `found`, which replaced level `before`; adds a level for a new handler.
  [[nodiscard]] int add(const Action& found, int before) noexcept {
    int level = 0;
    while (level < used && !at(level).calls(found)) ++level;
    if (level == used) {
      level = std::min(used, max_levels - 1);
      used = level + 1;
      at(level).before = std::min(before, level - 1);
      at(level).simple_handler = simple_handler_of(found);
      at(level).info_handler = info_handler_of(found);
    }
    at(level).action = found;
    return level;
  }
  [[nodiscard]] Level& at(int level) noexcept { return levels.at(static_cast<std::size_t>(level)); }

  /// Whether the application handles or ignores the signal at this level or below. If so, a second signal
  /// does not terminate.
  [[nodiscard]] bool is_handled(int level) noexcept {
    for (; level >= 0; level = at(level).before) {
      if (at(level).simple_handler != nullptr || at(level).info_handler != nullptr) return true;
      if ((at(level).action.sa_flags & SA_SIGINFO) == 0 && at(level).action.sa_handler == SIG_IGN)
        return true;
    }
    return false;
  }

  void call(int level, int signal, siginfo_t* info, void* context) noexcept {
    const pthread_t me = pthread_self();
    Action in_place{};
    (void)sigaction(signal, nullptr, &in_place);
    // Skips a handler that is installed twice, which would call itself as its own predecessor.
    while (level >= 0 && (at(level).inside == me || at(level).calls(in_place))) level = at(level).before;
    if (level < 0) return;
    Level& handler = at(level);
    const pthread_t other = handler.inside.exchange(me);
    if (const SimpleHandler simple = handler.simple_handler) simple(signal);
    if (const InfoHandler info_handler = handler.info_handler) info_handler(signal, info, context);
    handler.inside = other;
  }
};

// Global, because signal handlers can access only globals.
std::atomic<int> caught_signal = 0;
std::atomic<bool> handlers_are_installed = false;
std::atomic<std::int64_t> first_request_ns = 0;  // time of the first SIGTERM or SIGINT
std::array<Chain, NSIG> chains;

[[nodiscard]] Chain& chain_of(int signal) noexcept {
  return chains.at(static_cast<std::size_t>(signal));
}

/// Monotonic time in nanoseconds; async-signal-safe.
std::int64_t now_ns() noexcept {
  timespec now{};
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

/// Whether this is a second request to terminate. Signals within a second count as one request, because Slurm
/// and srun both send one.
bool is_repeated(int signal) noexcept {
  if (signal != SIGTERM && signal != SIGINT) return false;
  std::int64_t first = 0;
  const std::int64_t now = now_ns();
  return !first_request_ns.compare_exchange_strong(first, now) && now - first > 1'000'000'000;
}

void terminate_by(int signal) noexcept {
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
    if (is_repeated(signal) && !chain.is_handled(level)) terminate_by(signal);
  }
  chain.call(level, signal, info, context);
}

template <int... levels>
constexpr std::array<InfoHandler, max_levels> make_catchers(std::integer_sequence<int, levels...> /*all*/) {
  return {&catch_signal<levels>...};
}
constexpr auto catchers = make_catchers(std::make_integer_sequence<int, max_levels>());

/// The level whose catcher is installed; -1: none.
int own_level(const Action& now) noexcept {
  // An application that uses signal(2) restores our function as a handler with one argument.
  using Any = void (*)();
  // NOLINTBEGIN(*-reinterpret-cast)
  const Any there = (now.sa_flags & SA_SIGINFO) != 0 ? reinterpret_cast<Any>(now.sa_sigaction)
                                                     : reinterpret_cast<Any>(now.sa_handler);
  const auto* const at =
      std::ranges::find(catchers, there, [](InfoHandler ours) { return reinterpret_cast<Any>(ours); });
  // NOLINTEND(*-reinterpret-cast)
  return at == catchers.end() ? -1 : static_cast<int>(at - catchers.begin());
}

bool is_in_place(const Action& now, int level) noexcept {
  return own_level(now) == level && (now.sa_flags & SA_SIGINFO) != 0;
}

}  // namespace

SignalHandlers::SignalHandlers(const std::vector<int>& signals) {
  if (signals.empty()) return;
  if (handlers_are_installed.exchange(true))
    throw Error(ErrorCode::usage,
                "another StopRequest already catches signals: destroy the other StopRequest first");
  caught_signal = 0;
  first_request_ns = 0;
  owner_ = true;
  for (const int signal : signals) {
    installed_.push_back({.signal = signal});
    if (signal < 1 || signal >= NSIG || !install(installed_.back())) {
      installed_.pop_back();
      restore();
      throw Error(ErrorCode::usage, "signal " + std::to_string(signal) +
                                        " cannot be caught: remove this signal from StopOptions::signals");
    }
  }
}

SignalHandlers::~SignalHandlers() {
  restore();
}

int SignalHandlers::caught() const noexcept {
  return owner_ ? caught_signal.load() : 0;
}

void SignalHandlers::reinstall(int rank) {
  for (Installed& installed : installed_) {
    Action now{};
    if (sigaction(installed.signal, nullptr, &now) != 0 || is_in_place(now, installed.level)) continue;
    const bool is_foreign = own_level(now) < 0;
    if (!install(installed) || !is_foreign || std::exchange(installed.was_replaced, true)) continue;
    const std::string name = name_of_signal(installed.signal);
    const bool is_handler = simple_handler_of(now) != nullptr || info_handler_of(now) != nullptr;
    const std::string what = is_handler ? "another handler of " + name +
                                              " was installed while a StopRequest catches this signal: both "
                                              "handlers are called, the StopRequest's first"
                                        : name +
                                              " was set to ignore or default while a StopRequest catches "
                                              "this signal: the StopRequest installs its handler again";
    mpi::detail::say(
        "rank " + std::to_string(rank) + ": " + what +
        "; install handlers before creating the StopRequest, or remove the signal from StopOptions::signals");
  }
}

/// Installs our catcher, which calls the handler that is installed now.
bool SignalHandlers::install(Installed& installed) noexcept {
  Action found{};
  if (sigaction(installed.signal, nullptr, &found) != 0) return false;
  Chain& chain = chain_of(installed.signal);
  const int own = own_level(found);
  const int level = own >= 0 ? own : chain.add(found, installed.level);
  const Action& theirs = chain.at(level).action;
  Action ours{};
  ours.sa_sigaction = catchers.at(static_cast<std::size_t>(level));
  ours.sa_flags = SA_SIGINFO | SA_RESTART | (theirs.sa_flags & SA_ONSTACK);
  ours.sa_mask = theirs.sa_mask;
  chain.is_caught = true;
  if (sigaction(installed.signal, &ours, nullptr) != 0) {
    chain.is_caught = false;
    return false;
  }
  installed.level = level;
  return true;
}

void SignalHandlers::restore() noexcept {
  for (auto last = installed_.rbegin(); last != installed_.rend(); ++last) {
    Chain& chain = chain_of(last->signal);
    Action now{};
    // Keeps a handler that the application installed after the last check.
    const int own = sigaction(last->signal, nullptr, &now) == 0 ? own_level(now) : -1;
    if (own >= 0) sigaction(last->signal, &chain.at(own).action, nullptr);
    chain.is_caught = false;
  }
  installed_.clear();
  if (std::exchange(owner_, false)) handlers_are_installed = false;
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

}  // namespace TESSERA_NAMESPACE

// SPDX-License-Identifier: Apache-2.0
#include <tessera/job/stop_request.hpp>

#include <tessera/error.hpp>
#include <tessera/mpi/exit_guard.hpp>

#include "mpi/job/job_testing.hpp"
#include "support/errors.hpp"

#include <pthread.h>

#include <atomic>
#include <csignal>
#include <optional>
#include <string>

namespace tessera::testing {
namespace {

using StopSignals = OverRanks;

TEST_F(StopSignals, HandlersArePutBack) {
  static std::atomic<int> theirs = 0;
  struct sigaction ours {};
  struct sigaction before {};
  ours.sa_handler = [](int) { ++theirs; };
  ASSERT_EQ(sigaction(SIGUSR1, &ours, &before), 0);
  {
    const StopRequest stop(comm);
    EXPECT_THROW(StopRequest{comm}, Error);
    (void)std::raise(SIGUSR1);
    EXPECT_TRUE(stop.requested());
    EXPECT_EQ(theirs, 1) << "the application hears of it, too";
    const StopRequest without(comm, {.signals = {}});
    EXPECT_FALSE(without.requested());
  }
  (void)std::raise(SIGUSR1);
  EXPECT_EQ(theirs, 2);
  const StopRequest next(comm);
  EXPECT_FALSE(next.requested());
  ASSERT_EQ(sigaction(SIGUSR1, &before, nullptr), 0);
}

/// Whether threads of a new job block a signal of the terminal.
bool threads_block(const mpi::Communicator& comm) {
  JobOptions options = with_threads(1);
  options.policy = Policy::cpu;
  Job job(comm, options);
  std::atomic<bool> blocked = false;
  (void)job.reduce(job.plan(comm.size()), 1, host_only, [&](const HostTile&, std::span<double>) {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    blocked = sigismember(&mask, SIGINT) == 1;
  });
  return blocked;
}

TEST_F(StopSignals, ReachTheThreadsOfAHostAlone) {
  EXPECT_FALSE(threads_block(comm)) << "a function may signal its own thread";
  mpi::watch_exits(false);
  EXPECT_TRUE(threads_block(comm));
  mpi::watch_exits(true);
}

/// The application's handlers of SIGUSR2 during the lifetime of this object.
class OwnHandlers {
 public:
  OwnHandlers() { sigaction(SIGUSR2, nullptr, &before_); }
  ~OwnHandlers() { sigaction(SIGUSR2, &before_, nullptr); }
  OwnHandlers(const OwnHandlers&) = delete;
  OwnHandlers& operator=(const OwnHandlers&) = delete;

  static void set_plain() {
    (void)std::signal(SIGUSR2, [](int) { ++plain; });
  }
  /// A handler that calls its predecessor, as a handler should.
  static void set_informed() {
    struct sigaction ours {};
    ours.sa_flags = SA_SIGINFO;
    ours.sa_sigaction = [](int signal, siginfo_t* info, void* context) {
      informed += info != nullptr && info->si_signo == SIGUSR2 ? 1 : 0;
      if ((found.sa_flags & SA_SIGINFO) != 0) found.sa_sigaction(signal, info, context);
    };
    ASSERT_EQ(sigaction(SIGUSR2, &ours, &found), 0);
  }

  static inline std::atomic<int> plain = 0;
  static inline std::atomic<int> informed = 0;
  static inline struct sigaction found {};

 private:
  struct sigaction before_ {};
};

TEST_F(StopSignals, AHandlerThatIsSetLaterIsChainedAndTheRequestStaysInForce) {
  const OwnHandlers handlers;
  for (const bool informed : {false, true}) {
    OwnHandlers::plain = OwnHandlers::informed = 0;
    std::atomic<int>& calls = informed ? OwnHandlers::informed : OwnHandlers::plain;
    {
      StopRequest stop(comm, {.signals = {SIGUSR2}});
      ::testing::internal::CaptureStderr();
      informed ? OwnHandlers::set_informed() : OwnHandlers::set_plain();
      EXPECT_FALSE(stop.agree());  // checks the handlers in any case
      informed ? OwnHandlers::set_informed() : OwnHandlers::set_plain();
      EXPECT_FALSE(stop.agree());
      const std::string said = ::testing::internal::GetCapturedStderr();
      const auto at =
          said.find("another handler of SIGUSR2 was installed while a StopRequest catches this signal");
      EXPECT_NE(at, std::string::npos) << said;
      EXPECT_EQ(said.find("another handler", at + 1), std::string::npos) << "said twice: " << said;
      if (comm.rank() == 0) (void)std::raise(SIGUSR2);
      EXPECT_EQ(stop.requested(), comm.rank() == 0);
      EXPECT_EQ(calls, comm.rank() == 0 ? 1 : 0);
      EXPECT_TRUE(stop.agree());
      EXPECT_EQ(stop.cause(), "SIGUSR2 on rank 0");
    }
    (void)std::raise(SIGUSR2);
    EXPECT_EQ(calls, comm.rank() == 0 ? 2 : 1) << "it is the application's again";
  }
}

TEST_F(StopSignals, ASignalThatIsSetToBeIgnoredIsCaughtAgain) {
  const OwnHandlers handlers;
  for (const auto nothing : {SIG_IGN, SIG_DFL}) {
    StopRequest stop(comm, {.signals = {SIGUSR2}});
    (void)std::signal(SIGUSR2, nothing);
    ::testing::internal::CaptureStderr();
    EXPECT_FALSE(stop.agree());
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_TRUE(contains(said,
                         "SIGUSR2 was set to ignore or default while a StopRequest catches this signal: the "
                         "StopRequest installs its handler again"));
    (void)std::raise(SIGUSR2);
    EXPECT_TRUE(stop.requested());
  }
}

TEST_F(StopSignals, APassTakesASignalBack) {
  const OwnHandlers handlers;
  StopRequest stop(comm, {.signals = {SIGUSR2}});
  JobOptions options = with_threads(1);
  options.policy = Policy::cpu;
  options.stop = &stop;
  Job job(comm, options);
  OwnHandlers::set_plain();
  ::testing::internal::CaptureStderr();
  std::string cause;
  try {
    // Passes are repeated until one of their checks has found the handler.
    for (;;) {
      (void)reduce_units(job, job.plan(10));
      if (comm.rank() == 0) (void)std::raise(SIGUSR2);
    }
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::interrupted);
    cause = error.what();
  }
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("another handler of SIGUSR2"), std::string::npos);
  EXPECT_EQ(cause, "stopped by SIGUSR2 on rank 0");
  EXPECT_EQ(job.last_verdict().ran, Verdict::Ran::none);
  EXPECT_EQ(to_string(job.last_verdict()), "not computed: stopped by SIGUSR2 on rank 0");
}

TEST_F(StopSignals, ALaterHandlerThatNobodyHasSeenStaysWhenTheRequestEnds) {
  const OwnHandlers handlers;
  OwnHandlers::plain = 0;
  {
    const StopRequest stop(comm, {.signals = {SIGUSR2}});
    OwnHandlers::set_plain();
  }
  (void)std::raise(SIGUSR2);
  EXPECT_EQ(OwnHandlers::plain, 1);
}

/// A handler that calls the one that it found when it was last installed. Three of them, each installed by
/// `signal` or by `sigaction`, for an even or an odd number.
template <int number>
class Chaining {
 public:
  static void set() {
    if (number % 2 == 0) {
      found = {};
      found.sa_handler = std::signal(SIGUSR2, [](int signal) { called(signal, nullptr, nullptr); });
      return;
    }
    struct sigaction ours {};
    ours.sa_flags = SA_SIGINFO;
    ours.sa_sigaction = called;
    ASSERT_EQ(sigaction(SIGUSR2, &ours, &found), 0);
  }
  static void put_back() {
    if (number % 2 == 0)
      (void)std::signal(SIGUSR2, found.sa_handler);
    else
      ASSERT_EQ(sigaction(SIGUSR2, &found, nullptr), 0);
  }

 private:
  static void called(int signal, siginfo_t* info, void* context);
  static inline struct sigaction found {};
};

/// The handlers that one signal reached, in order, as digits.
std::atomic<int> reached = 0;

template <int number>
void Chaining<number>::called(int signal, siginfo_t* info, void* context) {
  reached = 10 * reached + number;
  const bool plain = (found.sa_flags & SA_SIGINFO) == 0;
  if (plain && (found.sa_handler == SIG_DFL || found.sa_handler == SIG_IGN)) return;
  plain ? found.sa_handler(signal) : found.sa_sigaction(signal, info, context);
}

/// The handlers that a signal reaches now.
int reached_now() {
  reached = 0;
  (void)std::raise(SIGUSR2);
  return reached;
}

/// *Collective.* Makes the request find newly installed handlers.
void find_handlers(StopRequest& stop) {
  ::testing::internal::CaptureStderr();
  (void)stop.agree();
  (void)::testing::internal::GetCapturedStderr();
}

TEST_F(StopSignals, EachHandlerThatChainsReachesTheOneBeforeIt) {
  const OwnHandlers handlers;
  Chaining<1>::set();
  std::optional<StopRequest> stop;
  const auto make = [&] { stop.emplace(comm, StopOptions{.signals = {SIGUSR2}}); };
  make();
  Chaining<2>::set();
  EXPECT_EQ(reached_now(), 21) << "before the request knows of it";
  find_handlers(*stop);
  EXPECT_EQ(reached_now(), 21);
  Chaining<3>::set();
  EXPECT_EQ(reached_now(), 321);
  find_handlers(*stop);
  EXPECT_EQ(reached_now(), 321);
  EXPECT_TRUE(stop->requested());
  stop.reset();
  EXPECT_EQ(reached_now(), 321) << "after the end of the request";
  make();
  EXPECT_EQ(reached_now(), 321) << "and under another one";
  Chaining<3>::put_back();
  EXPECT_EQ(reached_now(), 21);
  find_handlers(*stop);
  EXPECT_EQ(reached_now(), 21);
  EXPECT_TRUE(stop->requested());
  Chaining<2>::put_back();
  find_handlers(*stop);
  EXPECT_EQ(reached_now(), 1);
  stop.reset();
  EXPECT_EQ(reached_now(), 1);
}

TEST_F(StopSignals, AHandlerThatIsSetAgainAndAgainIsCalledOnce) {
  const OwnHandlers handlers;
  Chaining<1>::set();
  for (int request = 0; request < 20; ++request) {
    StopRequest stop(comm, {.signals = {SIGUSR2}});
    Chaining<2>::set();
    find_handlers(stop);
    Chaining<2>::set();
    EXPECT_EQ(reached_now(), 21);
    find_handlers(stop);
    EXPECT_EQ(reached_now(), 21);
    EXPECT_TRUE(stop.requested());
  }
  EXPECT_EQ(reached_now(), 21);
}

TEST_F(StopSignals, ARequestHearsOnlyTheSignalsThatItCatches) {
  const OwnHandlers handlers;
  std::optional<StopRequest> stop(std::in_place, comm, StopOptions{.signals = {SIGUSR2}});
  Chaining<2>::set();
  stop.reset();
  stop.emplace(comm, StopOptions{.signals = {SIGUSR1, SIGUSR1}});
  EXPECT_EQ(reached_now(), 2) << "whose chain passes by the request that ended";
  EXPECT_FALSE(stop->requested());
  (void)std::raise(SIGUSR1);
  EXPECT_TRUE(stop->requested());
}

}  // namespace
}  // namespace tessera::testing

// SPDX-License-Identifier: Apache-2.0
#include <tessera/job/stop_request.hpp>

#include <tessera/error.hpp>

#include "mpi/job/job_testing.hpp"

#include <atomic>
#include <csignal>
#include <functional>
#include <stdexcept>
#include <string>

namespace tessera::testing {
namespace {

constexpr std::int64_t units_per_rank = 2000;

/// A job with a request, on one host thread a rank or on simulated devices.
class Stops : public ::testing::TestWithParam<const char*> {
 protected:
  Job make_job(int threads = 1) {
    JobOptions options = with_threads(threads);
    options.stop = &stop_;
    return Job(comm_, options);
  }
  /// A pass in which `work` is called for each of this rank's units, in order.
  void pass(Job& job, const std::function<void(std::int64_t)>& work) {
    const Plan plan = job.plan(units_per_rank * comm_.size());
    std::vector<char> units(static_cast<std::size_t>(job.local_range(plan).size()));
    done_ = 0;
    (void)job.map<char>(
        plan, std::span<const char>(units),
        [](Tile& tile, std::span<const char>, std::span<char>) { no_real_device(tile); },
        [&](const HostTile& tile, std::span<const char>, std::span<char>) {
          for (std::int64_t unit = tile.range.begin; unit < tile.range.end; ++unit, ++done_) work(unit);
        });
  }
  /// The cause, if every rank is interrupted.
  std::string interruption(const std::function<void()>& work) const {
    std::string text = "no error";
    try {
      work();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::interrupted) << error.what();
      text = error.what();
    }
    expect_same_on_all_ranks(comm_, text);
    return text;
  }
  [[nodiscard]] int last() const { return comm_.size() - 1; }
  [[nodiscard]] bool is_last() const { return comm_.rank() == last(); }
  [[nodiscard]] std::string by_last(const std::string& what) const {
    return "stopped by " + what + " on rank " + std::to_string(last());
  }

  ScopedVariable simulate_{"TESSERA_SIMULATE", GetParam()};
  ScopedVariable no_gpu_{"CUDA_VISIBLE_DEVICES", ""};
  mpi::Communicator comm_ = world();
  StopRequest stop_{comm_};
  std::atomic<std::int64_t> done_ = 0;
};

constexpr const char* nothing_simulated = "rank999:T4";
INSTANTIATE_TEST_SUITE_P(Hosts, Stops, ::testing::Values(nothing_simulated));
INSTANTIATE_TEST_SUITE_P(Devices, Stops, ::testing::Values("*:2xT4"));

TEST_P(Stops, ASignalOnOneRankCutsThePassOfAll) {
  Job job = make_job();
  EXPECT_EQ(job.on_host(), std::string(GetParam()) == nothing_simulated);
  const std::int64_t all = job.local_range(job.plan(units_per_rank * comm_.size())).size();
  std::atomic<std::int64_t> seen = 0;
  const std::string cause = interruption([&] {
    pass(job, [&](std::int64_t) {
      if (++seen == all / 10 && is_last()) (void)std::raise(SIGUSR1);
      // The others would take until tomorrow.
      if (!is_last()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
  });
  EXPECT_EQ(cause, by_last("SIGUSR1"));
  EXPECT_LT(done_, all);
  EXPECT_TRUE(stop_.agreed());
  // No later pass begins.
  EXPECT_EQ(interruption([&] { pass(job, [](std::int64_t) {}); }), by_last("SIGUSR1"));
  EXPECT_EQ(done_, 0);
}

TEST_P(Stops, ARankThatIsDoneTellsThoseThatWork) {
  if (comm_.size() == 1) GTEST_SKIP() << "needs a rank that waits for another";
  Job job = make_job();
  const std::int64_t all = job.local_range(job.plan(units_per_rank * comm_.size())).size();
  std::atomic<std::int64_t> seen = 0;
  const std::string cause = interruption([&] {
    pass(job, [&](std::int64_t) {
      // In its last unit: it has nothing left to cut short, and goes to the vote.
      if (++seen == all && is_last()) (void)std::raise(SIGTERM);
      if (!is_last()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
  });
  EXPECT_EQ(cause, by_last("SIGTERM"));
  if (is_last()) {
    EXPECT_EQ(done_, all);
  }
  if (!is_last()) {
    EXPECT_LT(done_, all);
  }
}

TEST_P(Stops, APassThatWasDoneIsAResult) {
  Job job = make_job();
  const Plan plan = job.plan(10);
  const auto sums = job.reduce(
      plan, 1, [](Tile& tile, ReproducibleSum&) { no_real_device(tile); },
      [&](const HostTile& tile, std::span<double> partial) {
        partial[0] += static_cast<double>(tile.range.size());
        // Every rank's last unit of the plan.
        if (tile.range.end == job.local_range(plan).end && comm_.size() == 1) (void)std::raise(SIGUSR1);
      });
  EXPECT_EQ(sums[0], 10);
  if (comm_.size() == 1 && job.on_host()) {
    EXPECT_EQ(interruption([&] { pass(job, [](std::int64_t) {}); }), by_last("SIGUSR1"));
  }
}

TEST_P(Stops, ARequestAndAnAgreementOutsideAPass) {
  EXPECT_FALSE(stop_.agree());
  EXPECT_EQ(stop_.cause(), "");
  if (is_last()) stop_.request("a full disk");
  EXPECT_EQ(stop_.made(), is_last());
  EXPECT_TRUE(stop_.agree());
  EXPECT_TRUE(stop_.made());
  EXPECT_EQ(stop_.cause(), "a full disk on rank " + std::to_string(last()));
  EXPECT_TRUE(stop_.agree());
  Job job = make_job();
  EXPECT_EQ(interruption([&] { pass(job, [](std::int64_t) {}); }), by_last("a full disk"));
}

TEST_P(Stops, RanksThatWaitSpreadARequest) {
  if (is_last()) stop_.request("the last rank");
  // Rank 0 does not come before it has heard.
  if (comm_.rank() == 0 && comm_.size() > 1) {
    while (!stop_.made()) stop_.look();
  }
  stop_.wait_for_all();
  EXPECT_TRUE(stop_.agree());
}

TEST_P(Stops, AnErrorIsGraverThanARequest) {
  Job job = make_job();
  try {
    pass(job, [&](std::int64_t) {
      if (comm_.rank() == 0) throw std::runtime_error("a mistake");
      (void)std::raise(SIGUSR1);
    });
    ADD_FAILURE() << "the pass went well";
  } catch (const Error& error) {
    if (job.on_host()) {
      EXPECT_EQ(error.code(), ErrorCode::job_fault) << error.what();
    }
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(std::string(error.what()), "a mistake");
  }
  comm_.barrier();
}

TEST_P(Stops, UnitsThatDevicesHadChangedAreRestored) {
  Job job = make_job();
  const Plan plan = job.plan(units_per_rank * comm_.size());
  std::vector<int> units(static_cast<std::size_t>(job.local_range(plan).size()), 1);
  const auto untouched = units;
  std::atomic<int> calls = 0;
  EXPECT_EQ(interruption([&] {
              job.scatter(
                  plan, std::span(units), [](Tile& tile, std::span<int>) { no_real_device(tile); },
                  [&](const HostTile&, std::span<int> part) {
                    for (int& unit : part) unit = 2;
                    if (++calls == 3 && is_last()) (void)std::raise(SIGUSR1);
                    if (!is_last()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
                  });
            }),
            by_last("SIGUSR1"));
  if (!job.on_host()) {
    EXPECT_EQ(units, untouched);
  }
}

TEST(StopRequests, ATimeLimitIsARequest) {
  const ScopedVariable no_gpu("CUDA_VISIBLE_DEVICES", "");
  const auto comm = world();
  StopRequest stop(comm, {.signals = {}, .time_limit = std::chrono::milliseconds(20)});
  JobOptions options = with_threads(2);
  options.stop = &stop;
  Job job(comm, options);
  const Plan plan = job.plan(1000 * comm.size());
  try {
    for (;;) (void)reduce_units(job, plan);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::interrupted);
    EXPECT_EQ(std::string(error.what()), "stopped by the time limit of 20 ms");
  }
}

TEST(StopRequests, HandlersArePutBack) {
  const auto comm = world();
  static std::atomic<int> theirs = 0;
  struct sigaction ours {};
  struct sigaction before {};
  ours.sa_handler = [](int) { ++theirs; };
  ASSERT_EQ(sigaction(SIGUSR1, &ours, &before), 0);
  {
    const StopRequest stop(comm);
    EXPECT_THROW(StopRequest{comm}, Error);
    (void)std::raise(SIGUSR1);
    EXPECT_TRUE(stop.made());
    EXPECT_EQ(theirs, 1) << "the application hears of it, too";
    const StopRequest without(comm, {.signals = {}});
    EXPECT_FALSE(without.made());
  }
  (void)std::raise(SIGUSR1);
  EXPECT_EQ(theirs, 2);
  const StopRequest next(comm);
  EXPECT_FALSE(next.made());
  ASSERT_EQ(sigaction(SIGUSR1, &before, nullptr), 0);
}

/// The application's handlers of SIGUSR2 while it lives.
class OwnHandlers {
 public:
  OwnHandlers() { sigaction(SIGUSR2, nullptr, &before_); }
  ~OwnHandlers() { sigaction(SIGUSR2, &before_, nullptr); }
  OwnHandlers(const OwnHandlers&) = delete;
  OwnHandlers& operator=(const OwnHandlers&) = delete;

  static void set_plain() {
    (void)std::signal(SIGUSR2, [](int) { ++plain; });
  }
  /// One that calls the handler that it found, as a handler should.
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

TEST(StopRequests, AHandlerThatIsSetLaterIsChainedAndTheRequestStaysInForce) {
  const auto comm = world();
  const OwnHandlers handlers;
  for (const bool informed : {false, true}) {
    OwnHandlers::plain = OwnHandlers::informed = 0;
    std::atomic<int>& calls = informed ? OwnHandlers::informed : OwnHandlers::plain;
    {
      StopRequest stop(comm, {.signals = {SIGUSR2}});
      ::testing::internal::CaptureStderr();
      informed ? OwnHandlers::set_informed() : OwnHandlers::set_plain();
      EXPECT_FALSE(stop.agree());  // looks after the signals in any case
      informed ? OwnHandlers::set_informed() : OwnHandlers::set_plain();
      EXPECT_FALSE(stop.agree());
      const std::string said = ::testing::internal::GetCapturedStderr();
      const auto at = said.find("another handler of SIGUSR2 was set while a StopRequest catches it");
      EXPECT_NE(at, std::string::npos) << said;
      EXPECT_EQ(said.find("another handler", at + 1), std::string::npos) << "said twice: " << said;
      if (comm.rank() == 0) (void)std::raise(SIGUSR2);
      EXPECT_EQ(stop.made(), comm.rank() == 0);
      EXPECT_EQ(calls, comm.rank() == 0 ? 1 : 0);
      EXPECT_TRUE(stop.agree());
      EXPECT_EQ(stop.cause(), "SIGUSR2 on rank 0");
    }
    (void)std::raise(SIGUSR2);
    EXPECT_EQ(calls, comm.rank() == 0 ? 2 : 1) << "it is the application's again";
  }
}

TEST(StopRequests, APassTakesASignalBack) {
  const auto comm = world();
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
    // Until one of its looks has found the handler.
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

TEST(StopRequests, ALaterHandlerThatNobodyHasSeenStaysWhenTheRequestEnds) {
  const auto comm = world();
  const OwnHandlers handlers;
  OwnHandlers::plain = 0;
  {
    const StopRequest stop(comm, {.signals = {SIGUSR2}});
    OwnHandlers::set_plain();
  }
  (void)std::raise(SIGUSR2);
  EXPECT_EQ(OwnHandlers::plain, 1);
}

TEST(StopRequests, ATileRemembersThatItWasTold) {
  const auto comm = world();
  StopRequest stop(comm, {.signals = {}});
  const DeviceInfo device{};
  const Tile tile({0, 1}, {0, 1}, 0, device, {}, {}, &stop);
  const Tile other({0, 1}, {0, 1}, 0, device, {}, {}, &stop);
  const Tile without({0, 1}, {0, 1}, 0, device, {}, {});
  EXPECT_FALSE(tile.stopping());
  EXPECT_FALSE(tile.told_to_stop());
  stop.request("a test");
  EXPECT_FALSE(tile.told_to_stop()) << "it has not asked since";
  EXPECT_TRUE(tile.stopping());
  EXPECT_TRUE(tile.told_to_stop());
  EXPECT_FALSE(other.told_to_stop());
  EXPECT_FALSE(without.stopping());
}

TEST(StopRequests, MisuseIsRefused) {
  const auto comm = world();
  EXPECT_THROW(StopRequest(comm, {.signals = {SIGKILL}}), Error);
  EXPECT_THROW(StopRequest(comm, {.time_limit = std::chrono::milliseconds(-1)}), Error);
  EXPECT_FALSE(StopRequest(comm, {.time_limit = std::chrono::milliseconds::max()}).made()) << "no limit";
  const StopRequest again(comm);
  EXPECT_FALSE(again.made());
}

TEST(StopRequests, AMistakeOfOneRankIsToldToAll) {
  const auto comm = world();
  const bool on_last = comm.rank() == comm.size() - 1;
  const auto refusal = [&](StopOptions options) {
    try {
      const StopRequest stop(comm, std::move(options));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), on_last ? ErrorCode::usage : ErrorCode::job_fault);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const std::string begin =
      on_last ? ""
              : "rank " + std::to_string(comm.size() - 1) + " failed in the making of the stop request: ";
  EXPECT_EQ(refusal({.time_limit = std::chrono::milliseconds(on_last ? -1 : 1)}),
            begin + "StopOptions::time_limit is negative: give a time, or 0 for no limit");
  EXPECT_EQ(refusal({.signals = {on_last ? SIGKILL : SIGUSR1}}), begin + "signal 9 cannot be caught");
  EXPECT_FALSE(StopRequest(comm).made()) << "and what was taken is given back";
}

TEST(StopRequests, PassesHaveTheSameBits) {
  const ScopedVariable no_gpu("CUDA_VISIBLE_DEVICES", "");
  const auto comm = world();
  StopRequest stop(comm);
  for (const char* devices : {nothing_simulated, "*:2xT4"}) {
    const ScopedVariable simulate("TESSERA_SIMULATE", devices);
    for (const int threads : {1, 3}) {
      JobOptions options = with_threads(threads);
      options.stop = &stop;
      Job job(comm, options);
      const Plan plan = job.plan(10'007, 7);
      EXPECT_EQ(bits(reduce_units(job, plan)), bits(expected_sums(10'007, 7)));
      EXPECT_EQ(bits(map_units(job, plan)), bits(expected_map(job, plan)));
    }
  }
}

}  // namespace
}  // namespace tessera::testing

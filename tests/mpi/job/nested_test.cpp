// SPDX-License-Identifier: Apache-2.0
// Forbidden calls, from functions of a pass, on other threads, or of objects that no longer exist, throw
// Error(usage) on every rank without delay, and never hang.
#include "mpi/job/job_testing.hpp"

#include <tessera/error.hpp>
#include <tessera/job/checkpoint.hpp>
#include <tessera/job/device_collectives.hpp>
#include <tessera/job/stop_request.hpp>

#include <pthread.h>

#include <functional>
#include <stdexcept>
#include <thread>

namespace tessera::testing {
namespace {

constexpr const char* on_another_thread =
    "a collective call, for example Job::run, was made outside the main thread";

/// Jobs on hosts and on simulated devices, without a timeout that could end a hang.
class Nested : public ::testing::TestWithParam<const char*> {
 protected:
  static JobOptions endless() {
    JobOptions options = with_threads(2);
    options.collective_timeout = std::chrono::milliseconds(0);
    return options;
  }

  /// A pass whose functions make `call` on the ranks that `calls` names.
  void pass(const std::function<void()>& call, bool on_this_rank = true) {
    (void)job_.reduce(job_.plan(100 * comm_.size()), 1, no_real_device,
                      [&](const HostTile&, std::span<double>) {
                        if (on_this_rank) call();
                      });
  }
  void expect_refused(const std::function<void()>& call) {
    const std::string said = misuse_of([&] { pass(call); });
    EXPECT_NE(said.find(on_another_thread), std::string::npos) << said;
    EXPECT_EQ(job_.last_verdict().ran, Verdict::Ran::none);
    expect_same_on_all_ranks(comm_, to_string(job_.last_verdict()));
    expect_usable();
  }
  void expect_usable() {
    const bool on_host = job_.on_host();
    const Plan plan = job_.plan(100, 10);
    EXPECT_EQ(bits(reduce_units(job_, plan)), bits(expected_sums(100, 10)));
    EXPECT_EQ(on_host, job_.on_host()) << "misuse is no fault of a device";
    EXPECT_NE(job_.last_verdict().ran, Verdict::Ran::none);
  }

  ScopedVariable simulate_{"TESSERA_SIMULATE", GetParam()};
  ScopedVariable fault_{"TESSERA_FAULT", std::nullopt};
  mpi::Communicator comm_ = world();
  Job job_{comm_, endless()};
};

INSTANTIATE_TEST_SUITE_P(Hosts, Nested, ::testing::Values("rank9999:T4"));
INSTANTIATE_TEST_SUITE_P(Devices, Nested, ::testing::Values("*:2xT4"));

TEST_P(Nested, AVerbInsideAVerbIsRefused) {
  const Plan plan = job_.plan(10);
  expect_refused([&] { (void)map_units(job_, plan); });
  expect_refused([&] { (void)reduce_units(job_, plan); });
}

TEST_P(Nested, OtherCollectiveCallsInsideAVerbAreRefused) {
  expect_refused([&] { (void)comm_.allreduce(1, mpi::Reduction::sum); });
  expect_refused([&] { job_.comm().barrier(); });
  expect_refused([&] { (void)world(); });
  expect_refused([&] { (void)comm_.duplicate(); });
  expect_refused([&] { const Job inner(comm_); });
  expect_refused([&] { const mpi::Purpose purpose(comm_, "a purpose"); });
  expect_refused([&] { (void)job_.collectives().open(); });
  expect_refused([&] { job_.run_alive([] {}); });
  StopRequest stop(comm_, {.signals = {}});
  expect_refused([&] { (void)stop.agree(); });
  expect_refused([&] { stop.poll(); });
}

TEST_P(Nested, OfOneRankItIsAUsageErrorOnAll) {
  const int last = comm_.size() - 1;
  const Plan plan = job_.plan(10);
  const std::string said =
      misuse_of([&] { pass([&] { (void)map_units(job_, plan); }, comm_.rank() == last); });
  EXPECT_NE(said.find(on_another_thread), std::string::npos) << said;
  if (comm_.rank() != last) {
    EXPECT_TRUE(said.starts_with("rank " + std::to_string(last) + " (")) << said;
  }
  expect_usable();
}

TEST_P(Nested, AFunctionThatEndsItsThreadIsRefused) {
  for (int repetition = 0; repetition < 3; ++repetition) {
    const std::string said = misuse_of([&] { pass([] { pthread_exit(nullptr); }); });
    EXPECT_NE(said.find("ended its thread (pthread_exit"), std::string::npos) << said;
    expect_usable();
  }
  EXPECT_NE(misuse_of([&] { job_.run_alive([] { pthread_exit(nullptr); }); }).find("pthread_exit"),
            std::string::npos);
  expect_usable();
}

TEST_P(Nested, AVerbOnAnotherThreadIsRefused) {
  const Plan plan = job_.plan(10);
  std::string said;
  std::thread([&] { said = misuse_of([&] { (void)map_units(job_, plan); }); }).join();
  EXPECT_TRUE(said.starts_with(on_another_thread)) << said;
  std::thread([&] { said = misuse_of([&] { const Job other(comm_); }); }).join();
  EXPECT_TRUE(said.starts_with(on_another_thread)) << said;
  expect_usable();
}

TEST_P(Nested, FunctionsThatAreNullAreRefused) {
  const Plan plan = job_.plan(10);
  const std::vector<double> units = local_units(job_, plan);
  std::vector<double> changed = units;
  const std::function<void(Tile&, ReproducibleSum&)> no_reduce;
  const std::function<void(Tile&, std::span<double>)> no_scatter;
  void (*const no_map)(const HostTile&, std::span<const double>, std::span<double>) = nullptr;
  const auto on_device = no_real_device;
  for (const std::string& said :
       {misuse_of([&] { (void)job_.reduce(plan, 1, no_reduce, [](const HostTile&, std::span<double>) {}); }),
        misuse_of([&] {
          job_.scatter(plan, std::span(changed), no_scatter, [](const HostTile&, std::span<double>) {});
        }),
        misuse_of([&] { (void)job_.map<double>(plan, std::span<const double>(units), on_device, no_map); })})
    EXPECT_EQ(said,
              "a function of the pass is null: give a function for devices and a function for the host");
  EXPECT_EQ(changed, units);
  EXPECT_NE(misuse_of([&] { job_.run_alive(nullptr); }), "");
  expect_usable();
}

TEST_P(Nested, WhatRunsAliveIsRunOnceAndItsExceptionComesBack) {
  int calls = 0;
  const auto here = std::this_thread::get_id();
  job_.run_alive([&] {
    ++calls;
    EXPECT_NE(std::this_thread::get_id(), here);
  });
  EXPECT_EQ(calls, 1);
  EXPECT_THROW(job_.run_alive([] { throw std::out_of_range("a solution"); }), std::out_of_range);
  expect_usable();
}

TEST_P(Nested, APlanOfMoreBlocksThanASumTakesIsRefusedBeforeAnyWork) {
  constexpr std::int64_t most = ReproducibleSum::max_summands;
  const auto sum = [&](const Plan& plan) {
    return misuse_of([&] {
      (void)job_.reduce(
          plan, 1, [](Tile&, ReproducibleSum&) { throw std::logic_error("work was begun"); },
          [](const HostTile&, std::span<double>) { throw std::logic_error("work was begun"); });
    });
  };
  EXPECT_TRUE(sum(job_.plan(most + 1)).starts_with("the plan has " + std::to_string(most + 1) + " blocks"));
  EXPECT_TRUE(
      sum(job_.plan(3 * most + 1, 3)).starts_with("the plan has " + std::to_string(most + 1) + " blocks"));
  expect_usable();
}

TEST_P(Nested, AnotherVerbOrTypeOnOneRankIsToldToAll) {
  if (comm_.size() == 1) GTEST_SKIP() << "one rank cannot disagree";
  const bool last = comm_.rank() == comm_.size() - 1;
  const Plan plan = job_.plan(40 * comm_.size());
  const auto size = static_cast<std::size_t>(job_.local_range(plan).size());
  const auto map = [&]<class Result, class Unit>(Result, Unit, std::int64_t bytes_per_unit) {
    const std::vector<Unit> units(size);
    (void)job_.map<Result>(
        plan, std::span<const Unit>(units), no_real_device,
        [](const HostTile&, std::span<const Unit>, std::span<Result>) {}, bytes_per_unit);
  };
  const auto scatter = [&] {
    std::vector<double> units(size);
    job_.scatter(plan, std::span(units), no_real_device, [](const HostTile&, std::span<double>) {});
  };
  const auto disagreement = [&](const std::function<void()>& ours, const std::function<void()>& of_last) {
    const std::string said = misuse_of(last ? of_last : ours);
    EXPECT_TRUE(said.starts_with("the ranks make different calls in pass ")) << said;
    EXPECT_NE(said.find("rank " + std::to_string(comm_.size() - 1) + " ("), std::string::npos) << said;
    expect_same_on_all_ranks(comm_, said);
    expect_same_on_all_ranks(comm_, to_string(job_.last_verdict()));
    EXPECT_EQ(job_.last_verdict().ran, Verdict::Ran::none);
    expect_usable();
    return said;
  };
  const auto of_doubles = [&] { map(0.0, 0.0, 0); };
  std::string said = disagreement(of_doubles, [&] { map(0.0F, 0.0, 0); });
  EXPECT_NE(said.find("map of double (8 bytes) to float (4 bytes)"), std::string::npos) << said;
  said = disagreement(of_doubles, [&] { map(0.0, std::int64_t{0}, 0); });
  EXPECT_NE(said.find("map of long (8 bytes) to double (8 bytes)"), std::string::npos) << said;
  said = disagreement(of_doubles, scatter);
  EXPECT_NE(said.find("scatter of double (8 bytes)"), std::string::npos) << said;
  said = disagreement(of_doubles, [&] { map(0.0, 0.0, 16); });
  EXPECT_NE(said.find("16 bytes per unit on a device"), std::string::npos) << said;
  const auto sum = [&](auto on_device) {
    (void)job_.reduce(plan, 1, on_device, [](const HostTile&, std::span<double>) {});
  };
  said = disagreement([&] { sum(no_real_device); }, [&] { sum(host_only); });
  EXPECT_NE(said.find("a pass for hosts alone"), std::string::npos) << said;
}

}  // namespace
}  // namespace tessera::testing

// SPDX-License-Identifier: Apache-2.0
// Jobs of one process on the same simulated device take turns.
#include "mpi/job/array_testing.hpp"
#include "support/errors.hpp"

#include <tessera/error.hpp>
#include <tessera/job/device_turn.hpp>
#include <tessera/job/stop_request.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

namespace tessera::testing {
namespace {

constexpr std::int64_t few_units = 200;
constexpr std::int64_t few_block = 7;

class DeviceTurns : public ::testing::Test {
 protected:
  static JobOptions options(double memory_fraction = 0.5) {
    JobOptions options = with_threads(2);
    options.policy = Policy::gpu;
    options.memory_fraction = memory_fraction;
    return options;
  }
  static std::int64_t budget_of(const Job& job) { return job.inventory().devices()[0].memory_budget_bytes; }
  static std::size_t reserved_by(Job& job) { return job.buffers().pool_at(0).statistics().reserved_bytes(); }

  ScopedVariable simulate_{"TESSERA_SIMULATE", "rank0:H200"};
  mpi::Communicator comm_ = mpi::Communicator::serial();
};

/// A pass whose function is `work`, on the device.
void pass(Job& job, FunctionRef<void()> work) {
  (void)job.reduce(job.plan(few_units, few_block), 1, no_real_device,
                   [&](const HostTile&, std::span<double>) { work(); });
}

void pass_on_host(Job& job) {
  (void)job.reduce(job.plan(few_units, few_block), 1, host_only, [](const HostTile&, std::span<double>) {});
}

TEST_F(DeviceTurns, JobsOfTwoThreadsHaveTheSameDeviceAndNeverAtATime) {
  std::atomic<int> inside = 0;  // jobs whose functions run
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      for (int repeat = 0; repeat < 5; ++repeat) {
        Job job(mpi::Communicator::serial(), options());
        for (int step = 0; step < 5; ++step) {
          const DeviceTurn turn(job);
          EXPECT_EQ(bits(reduce_units(job, job.plan(few_units, few_block))),
                    bits(expected_sums(few_units, few_block)));
          EXPECT_EQ(++inside, 1);
          pass(job, [] { std::this_thread::yield(); });
          EXPECT_EQ(job.last_verdict().ran, Verdict::Ran::devices);
          --inside;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(DeviceTurns, AJobWaitsForTheTurnOfAnother) {
  Job one(comm_, options());
  std::optional<DeviceTurn> turn(one);
  pass(one, [] {});
  std::atomic<bool> is_over = false;
  std::promise<void> begun;
  std::thread other([&] {
    Job two(mpi::Communicator::serial(), options());  // does not wait
    pass_on_host(two);
    begun.set_value();
    pass(two, [&] { EXPECT_TRUE(is_over) << "both have the device"; });
  });
  begun.get_future().wait();
  for (int step = 0; step < 50; ++step) pass(one, [] { std::this_thread::yield(); });
  is_over = true;
  turn.reset();
  other.join();
}

TEST_F(DeviceTurns, AJobThatWaitsCanBeStopped) {
  Job one(comm_, options());
  const DeviceTurn turn(one);
  pass(one, [] {});
  std::thread([] {
    const auto comm = mpi::Communicator::serial();
    StopRequest stop(comm, {.time_limit = std::chrono::milliseconds(200)});
    JobOptions with_stop = options();
    with_stop.stop = &stop;
    Job two(comm, with_stop);
    EXPECT_EQ(
        error_of(ErrorCode::interrupted, [&] { pass(two, [] { ADD_FAILURE() << "both have the device"; }); }),
        "stopped by the time limit of 200 ms");
    EXPECT_EQ(two.last_verdict().ran, Verdict::Ran::none);
  }).join();
  pass(one, [] {});
}

TEST_F(DeviceTurns, OneThreadMayHaveSeveralJobs) {
  Job one(comm_, options());
  Job two(comm_, options());
  pass(one, [] {});
  pass(two, [] {});
  {
    const DeviceTurn turn(one);
    pass(two, [] {});
    pass(one, [] {});
    const std::string said = misuse_of([&] { pass(two, [] {}); });
    EXPECT_NE(said.find("this thread"), std::string::npos) << said;
    pass_on_host(two);
    pass(one, [] {});
  }
  pass(two, [] {});
}

TEST_F(DeviceTurns, ArraysLeaveTheDeviceForAnotherJob) {
  Job one(comm_, options(0.9));
  const std::int64_t whole = budget_of(one);
  Solver solver(one);
  solver.step();
  solver.step();
  EXPECT_EQ(solver.state.traffic().downloads, 0) << "it is alone";
  EXPECT_GT(reserved_by(one), 0U);

  Job two(comm_, options(0.9));
  Solver second(two);
  second.step();
  EXPECT_EQ(budget_of(two), one.inventory().devices()[0].total_memory_bytes - whole)
      << "the first keeps its own";
  EXPECT_EQ(second.state.traffic().downloads, 1);
  EXPECT_EQ(reserved_by(two), 0U);
  EXPECT_EQ(second.states(), second.expected(1));

  solver.step();
  EXPECT_EQ(budget_of(one), whole);
  EXPECT_EQ(solver.state.traffic().downloads, 1);
  EXPECT_EQ(reserved_by(one), 0U);
  EXPECT_EQ(solver.states(), solver.expected(3));
  second.step();
  EXPECT_EQ(budget_of(two), whole);
  {
    const DeviceTurn turn(two);
    second.step();
    second.step();
    EXPECT_EQ(second.state.traffic().downloads, 2) << "they stay until the end of the turn";
  }
  EXPECT_EQ(second.states(), second.expected(4));
  EXPECT_EQ(solver.sum_of_states(), expected_sum_of_states(3));
}

TEST_F(DeviceTurns, AFallbackEndsTheTurn) {
  JobOptions may_fall_back = options();
  may_fall_back.policy = Policy::automatic;
  Job one(comm_, may_fall_back);
  Job two(comm_, options());
  const DeviceTurn turn(one);
  std::atomic<bool> fails = true;
  (void)one.reduce(one.plan(few_units, few_block), 1, no_real_device,
                   [&](const HostTile&, std::span<double>) {
                     if (fails.exchange(false)) throw std::runtime_error("the device is lost");
                   });
  EXPECT_TRUE(one.on_host());
  pass(two, [] {});
}

}  // namespace
}  // namespace tessera::testing

// SPDX-License-Identifier: Apache-2.0
// A device that fails costs a solver with arrays no pass if its data can be copied back, and otherwise the
// passes since the last download; the remaining devices give the same bits.
#include "mpi/job/array_testing.hpp"
#include "support/errors.hpp"

#include <tessera/error.hpp>

namespace tessera::testing {
namespace {

constexpr int steps = 12;

JobOptions options_of(OnDeviceFailure action, bool may_move_units = false) {
  JobOptions options;
  options.threads = 1;
  options.on_device_failure = action;
  options.may_move_units = may_move_units;
  return options;
}

/// The same with this many bytes of each device's memory.
JobOptions with_budget(double bytes, JobOptions options) {
  options.memory_fraction = bytes / (141.0 * 0x1p30);
  return options;
}
/// Fits a few blocks of a solver's arrays, and no tile.
constexpr double streaming_budget = 4000;

class ArrayFault : public ::testing::TestWithParam<OnDeviceFailure> {
 protected:
  [[nodiscard]] std::string device(int index) const {
    return "rank" + std::to_string(comm_.size() - 1) + ".device" + std::to_string(index);
  }
  void expect_hardware(const Job& job) const {
    EXPECT_EQ(job.on_host(), GetParam() == OnDeviceFailure::cpu);
    expect_same_on_all_ranks(comm_, to_string(job.last_verdict()));
  }

  mpi::Communicator comm_ = world();
  ScopedVariable simulate_{"TESSERA_SIMULATE", "*:2xH200"};
};

TEST_P(ArrayFault, NoPassIsLostIfTheDevicesGiveTheirDataBack) {
  for (const char* stage : {"throw", "fail", "allocate"}) {
    const ScopedVariable fault("TESSERA_FAULT", stage + ("@" + device(1)) + ":pass5");
    Job job(comm_, options_of(GetParam()));
    Solver solver(job);
    for (int step = 1; step <= steps; ++step) {
      solver.step();
      EXPECT_EQ(solver.state.version(), step + 1);
    }
    expect_hardware(job);
    job.download(solver.state);
    EXPECT_EQ(bits(solver.states()), bits(solver.expected(steps))) << stage;
    EXPECT_EQ(bits({solver.sum_of_states()}), bits({expected_sum_of_states(steps)}));
  }
}

TEST_P(ArrayFault, ADeviceThatKeepsItsDataCostsThePassesSinceTheLastDownload) {
  // The device fails in the ninth pass of a loop that downloads after every third.
  const ScopedVariable fault("TESSERA_FAULT", "throw@" + device(0) + ":pass9,lost@" + device(0) + ":pass9");
  Job job(comm_, options_of(GetParam()));
  Solver solver(job);
  int rolled_back = 0;
  while (solver.state.version() <= steps) {
    try {
      solver.step();
      if (solver.state.version() % 3 == 1) job.download(solver.state);
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::rolled_back) << error.what();
      expect_same_on_all_ranks(comm_, error.what());
      EXPECT_EQ(job.last_verdict().ran, Verdict::Ran::none);
      EXPECT_EQ(solver.state.version(), 7) << "as after the sixth step";
      EXPECT_EQ(solver.state.host_version(), 7);
      EXPECT_EQ(solver.matrix.version(), 1);
      EXPECT_EQ(bits(solver.states()), bits(solver.expected(6)));
      ++rolled_back;
    }
  }
  EXPECT_EQ(rolled_back, 1);
  expect_hardware(job);
  EXPECT_EQ(bits(solver.states()), bits(solver.expected(steps)));
}

TEST_P(ArrayFault, ADownloadThatFailsLeavesTheHostsAsTheyWere) {
  const ScopedVariable fault("TESSERA_FAULT", "lost@" + device(1) + ":pass2");
  Job job(comm_, options_of(GetParam()));
  Solver solver(job);
  Array<int> unused(job, solver.state.plan());
  solver.step();
  // Counts as the second pass, and leaves the devices as they are.
  job.update(arrays(unused.read()), host_only, [](const HostTile&, std::span<const int>) {});
  expect_same_on_all_ranks(comm_, error_of(ErrorCode::rolled_back, [&] { job.download(solver.state); }));
  EXPECT_EQ(solver.state.version(), 1);
  EXPECT_EQ(bits(solver.states()), bits(solver.expected(0)));
  for (int step = 0; step < 3; ++step) solver.step();
  expect_hardware(job);
  job.download(solver.state);
  EXPECT_EQ(bits(solver.states()), bits(solver.expected(3)));
}

TEST_P(ArrayFault, AFaultInAReductionLosesNothing) {
  const ScopedVariable fault("TESSERA_FAULT", "throw@" + device(0) + ":pass4");
  Job job(comm_, options_of(GetParam()));
  Solver solver(job);
  for (int step = 1; step <= 4; ++step) {
    solver.step();
    EXPECT_EQ(bits({solver.sum_of_states()}), bits({expected_sum_of_states(step)})) << step;
  }
  expect_hardware(job);
}

INSTANTIATE_TEST_SUITE_P(Actions, ArrayFault,
                         ::testing::Values(OnDeviceFailure::cpu, OnDeviceFailure::exclude),
                         [](const auto& action) { return std::string(to_string(action.param)); });

class StreamedArrayFault : public ArrayFault {};

TEST_P(StreamedArrayFault, NoPassIsLostWhateverTheDevicesGiveBack) {
  for (const std::string stage : {"throw", "fail", "allocate", "lost"}) {
    const ScopedVariable fault("TESSERA_FAULT", stage + "@" + device(1) + ":pass5");
    Job job(comm_, with_budget(streaming_budget, options_of(GetParam())));
    Solver solver(job);
    for (int step = 1; step <= steps; ++step) {
      solver.step();
      EXPECT_EQ(solver.state.version(), step + 1);
      EXPECT_EQ(solver.state.host_version(), step + 1);
    }
    expect_hardware(job);
    EXPECT_EQ(bits(solver.states()), bits(solver.expected(steps))) << stage;
    EXPECT_EQ(bits({solver.sum_of_states()}), bits({expected_sum_of_states(steps)}));
  }
}

TEST_P(StreamedArrayFault, ADeviceThatDoesNotGiveBackWhatMakesRoomCostsThePassesSinceTheLastDownload) {
  // Three arrays; the devices have room for two, or for one with two copies.
  const ScopedVariable fault("TESSERA_FAULT", "lost@" + device(0) + ":pass4");
  Job job(comm_, with_budget(2.5 * 8 * solver_units / (2 * comm_.size()), options_of(GetParam())));
  const Plan plan = job.plan(solver_units, solver_block);
  Array<double> changed(job, plan);
  Array<double> other(job, plan);
  const auto add_one = [&] {
    job.update(arrays(changed.modify()), no_real_device, [](const HostTile&, std::span<double> values) {
      for (double& value : values) ++value;
    });
  };
  const auto read_other = [&] {
    job.update(arrays(other.read()), no_real_device, [](const HostTile&, std::span<const double>) {});
  };
  add_one();
  job.download(changed);
  add_one();
  add_one();
  expect_same_on_all_ranks(comm_, error_of(ErrorCode::rolled_back, read_other));
  EXPECT_EQ(changed.version(), 1);
  add_one();
  read_other();
  job.download(changed);
  expect_hardware(job);
  for (const double value : changed.host()) EXPECT_EQ(value, 2);
}

INSTANTIATE_TEST_SUITE_P(Actions, StreamedArrayFault,
                         ::testing::Values(OnDeviceFailure::cpu, OnDeviceFailure::exclude),
                         [](const auto& action) { return std::string(to_string(action.param)); });

class ArrayWithoutADevice : public ArrayFault {};

TEST_P(ArrayWithoutADevice, WhatTheDevicesThatAreLeftDoNotHoldIsStreamed) {
  const ScopedVariable fault("TESSERA_FAULT", "throw@rank*.device1:pass5");
  // With two devices per rank, three of four tiles fit.
  Job job(comm_, with_budget(1.5 * (matrix_width + 2) * 8 * solver_units / (2 * comm_.size()),
                             options_of(GetParam())));
  Solver solver(job);
  for (int step = 1; step <= steps; ++step) {
    solver.step();
    EXPECT_EQ(solver.state.host_version() == solver.state.version(), step >= 5) << step;
  }
  EXPECT_FALSE(job.on_host());
  EXPECT_EQ(bits(solver.states()), bits(solver.expected(steps)));
}

TEST_P(ArrayWithoutADevice, UnitsOfARankThatLostItsDevicesMoveIfTheyMay) {
  if (comm_.size() == 1) GTEST_SKIP() << "needs another rank";
  const ScopedVariable fault("TESSERA_FAULT", "throw@rank0.device0:pass3,fail@rank0.device1:pass5");
  const JobOptions options = options_of(GetParam(), true);
  for (const JobOptions& used : {options, with_budget(streaming_budget, options)}) {
    Job job(comm_, used);
    Solver solver(job);
    for (int step = 0; step < steps; ++step) solver.step();
    EXPECT_FALSE(job.on_host());
    EXPECT_EQ(solver.state.plan().fingerprint(), solver.matrix.plan().fingerprint());
    EXPECT_EQ(solver.state.plan().range_of(0).size(), 0);
    job.download(solver.state);
    EXPECT_EQ(bits(solver.states()), bits(solver.expected(steps)));
  }
}

TEST_P(ArrayWithoutADevice, ElseTheProgramMovesThem) {
  if (comm_.size() == 1) GTEST_SKIP() << "needs another rank";
  const ScopedVariable fault("TESSERA_FAULT", "throw@rank0:pass3");
  Job job(comm_, options_of(GetParam()));
  Solver solver(job);
  int moves = 0;
  while (solver.state.version() <= steps) {
    try {
      solver.step();
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::outdated_plan) << error.what();
      const Plan plan = job.plan(solver_units, solver_block);
      solver.matrix.move_to(plan);
      solver.state.move_to(plan);
      ++moves;
    }
  }
  EXPECT_EQ(moves, 1);
  EXPECT_FALSE(job.on_host());
  job.download(solver.state);
  EXPECT_EQ(bits(solver.states()), bits(solver.expected(steps)));
}

INSTANTIATE_TEST_SUITE_P(Actions, ArrayWithoutADevice, ::testing::Values(OnDeviceFailure::exclude),
                         [](const auto& action) { return std::string(to_string(action.param)); });

}  // namespace
}  // namespace tessera::testing

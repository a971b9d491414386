// SPDX-License-Identifier: Apache-2.0
// Arrays stay where passes compute, on any hardware, and each of their versions is complete.
#include "mpi/job/array_testing.hpp"
#include "support/errors.hpp"

#include <tessera/error.hpp>

#include <stdexcept>

namespace tessera::testing {
namespace {

constexpr const char* two_devices = "*:2xH200";
constexpr const char* device_elsewhere = "rank99:H200";

class ArrayPasses : public ::testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] bool on_devices() const { return !job_.on_host(); }
  /// The number of this rank's tiles, in which copies are counted.
  [[nodiscard]] std::int64_t tiles(const Plan& plan) const {
    return on_devices() ? std::ssize(plan.tiles_of(job_.comm().rank())) : 0;
  }

  ScopedVariable simulate_{"TESSERA_SIMULATE", GetParam()};
  ScopedVariable fault_{"TESSERA_FAULT", std::nullopt};
  Job job_{world(), with_threads(2)};
};

TEST_P(ArrayPasses, ASolverOfManyPassesCopiesItsInputOnce) {
  Solver solver(job_);
  for (int step = 0; step < 100; ++step) {
    solver.step();
    EXPECT_EQ(bits({solver.sum_of_states()}), bits({expected_sum_of_states(step + 1)})) << step;
  }
  EXPECT_EQ(solver.state.version(), 101);
  EXPECT_EQ(solver.state.host_version(), on_devices() ? 1 : 101);
  job_.download(solver.state);
  EXPECT_EQ(solver.state.host_version(), 101);
  EXPECT_EQ(bits(solver.states()), bits(solver.expected(100)));

  const std::int64_t copies = tiles(solver.matrix.plan());
  const std::int64_t units = on_devices() ? job_.local_range(solver.matrix.plan()).size() : 0;
  EXPECT_EQ(solver.matrix.traffic().uploads, copies);
  EXPECT_EQ(solver.matrix.traffic().uploaded_bytes, units * matrix_width * 8);
  EXPECT_EQ(solver.matrix.traffic().downloads, 0);
  EXPECT_EQ(solver.state.traffic().uploads, copies);
  EXPECT_EQ(solver.state.traffic().downloads, copies);
  EXPECT_EQ(solver.state.traffic().downloaded_bytes, units * 8);
}

TEST_P(ArrayPasses, APassReadsTheLastVersionAndWritesTheNext) {
  Array<std::int64_t> numbers(job_, job_.plan(500, 7), 2);
  const auto step = [&] {
    job_.update(arrays(numbers.read(), numbers.write()), no_real_device,
                [](const HostTile& tile, std::span<const std::int64_t> last, std::span<std::int64_t> next) {
                  EXPECT_EQ(std::ssize(last), 2 * tile.range.size());
                  // Exchanged, so that a step in place would give wrong results.
                  for (std::size_t i = 0; i < last.size(); i += 2) {
                    next[i] = last[i + 1] + 1;
                    next[i + 1] = last[i] + tile.range.begin + static_cast<std::int64_t>(i / 2);
                  }
                });
  };
  for (int i = 0; i < 4; ++i) step();
  job_.download(numbers);
  const Range mine = job_.local_range(numbers.plan());
  for (std::int64_t unit = mine.begin; unit < mine.end; ++unit) {
    const auto i = static_cast<std::size_t>(2 * (unit - mine.begin));
    ASSERT_EQ(numbers.host()[i], 2 * unit + 2);
    ASSERT_EQ(numbers.host()[i + 1], 2 * unit + 2);
  }
}

TEST_P(ArrayPasses, WhatTheHostWritesIsWhatTheNextPassReads) {
  Solver solver(job_);
  solver.step();
  for (const int round : {1, 2}) {
    std::ranges::fill(solver.state.overwrite(), round);
    EXPECT_EQ(solver.sum_of_states(), round * solver_units);
  }
}

TEST_P(ArrayPasses, APassOnHostsAloneSeesWhatDevicesWrote) {
  Solver solver(job_);
  solver.step();
  job_.update(arrays(solver.matrix.read(), solver.state.modify()), host_only,
              [](const HostTile&, std::span<const double> rows, std::span<double> states) {
                Solver::advance(rows, states);
              });
  EXPECT_EQ(job_.last_verdict().ran, Verdict::Ran::host);
  solver.step();
  job_.download(solver.state);
  EXPECT_EQ(bits(solver.states()), bits(solver.expected(3)));
}

TEST_P(ArrayPasses, AnArrayThatIsWantedTwiceIsBroughtHomeOnce) {
  Array<int> numbers(job_, job_.plan(1000));
  const auto increment = [](const HostTile&, std::span<const int> last, std::span<int> next) {
    for (std::size_t i = 0; i < next.size(); ++i) next[i] = last[i] + 1;
  };
  const auto step = [&](auto&& on_device) {
    job_.update(arrays(numbers.read(), numbers.write()), on_device, increment);
  };
  const auto unused = no_real_device;
  step(unused);
  step(host_only);
  step(unused);
  job_.download(numbers, numbers);
  EXPECT_EQ(numbers.host_version(), 3);
  EXPECT_EQ(std::ranges::count(numbers.host(), 3), job_.local_range(numbers.plan()).size());
}

TEST_P(ArrayPasses, APassThatEndsWithAnExceptionChangesNothing) {
  Solver solver(job_);
  solver.step();
  if (!on_devices()) {
    EXPECT_THROW(job_.update(arrays(solver.state.modify()), host_only,
                             [](const HostTile&, std::span<double> states) {
                               std::ranges::fill(states, -1.0);
                               throw std::runtime_error("the function fails");
                             }),
                 std::exception);
  }
  Array<double> other(job_, job_.plan(77));
  EXPECT_THROW(job_.update(arrays(solver.state.modify(), other.read()), no_real_device,
                           [](const HostTile&, auto...) {}),
               Error);
  EXPECT_EQ(solver.state.version(), 2);
  job_.download(solver.state);
  EXPECT_EQ(bits(solver.states()), bits(solver.expected(1)));
}

TEST_P(ArrayPasses, WrongArraysAreRefused) {
  Solver solver(job_);
  Job another(world());
  Array<double> foreign(another, another.plan(solver_units, solver_block));
  const auto refused = [&](auto list) {
    const auto update = [&] { job_.update(list, no_real_device, [](const HostTile&, auto...) {}); };
    return error_if_any(ErrorCode::usage, update).has_value();
  };
  EXPECT_TRUE(refused(arrays(foreign.read())));
  EXPECT_TRUE(refused(arrays(solver.state.write(), solver.state.write())));
  EXPECT_TRUE(refused(arrays(solver.state.read(), solver.state.modify())));
  EXPECT_TRUE(refused(arrays(solver.state.modify(), solver.state.modify())));
  EXPECT_THROW(Array<double>(job_, job_.plan(5), 0), Error);
  EXPECT_THROW(Array<double>(job_, job_.plan(std::int64_t{1} << 40), std::int64_t{1} << 30), Error)
      << "2^73 bytes";
  EXPECT_THROW(Array<double>(job_, Plan::over_hosts(5, job_.comm().size() + 1)), Error);
}

TEST_P(ArrayPasses, RanksWhoseVersionsDifferAreTold) {
  if (job_.comm().size() == 1) GTEST_SKIP() << "needs another rank";
  Solver solver(job_);
  if (job_.comm().rank() == 0) (void)solver.state.overwrite();
  expect_error(ErrorCode::usage, "array 1 of version 2 is modified", [&] { solver.step(); });
}

TEST_P(ArrayPasses, RanksWhoseWidthsDifferAreTold) {
  if (job_.comm().size() == 1) GTEST_SKIP() << "needs another rank";
  Array<double> array(job_, job_.plan(5), job_.comm().rank() == 0 ? 1 : 2);
  expect_error(ErrorCode::usage, "array 0 of version 0 is written, 16 bytes per unit",
               [&] { job_.update(arrays(array.write()), no_real_device, [](const HostTile&, auto...) {}); });
}

TEST_P(ArrayPasses, UnitsMoveToAnotherPlan) {
  Solver solver(job_);
  solver.step();
  const Plan other = job_.plan(
      solver_units, {.block = 5, .weights = [](std::int64_t unit) { return static_cast<double>(unit); }});
  solver.matrix.move_to(other);
  solver.state.move_to(other);
  EXPECT_EQ(solver.state.plan().fingerprint(), other.fingerprint());
  solver.step();
  job_.download(solver.state, solver.matrix);
  EXPECT_EQ(bits(solver.states()), bits(solver.expected(2)));
  EXPECT_THROW(solver.state.move_to(job_.plan(3)), Error);
}

TEST_P(ArrayPasses, RanksThatMoveAnArrayToDifferentPlansAreTold) {
  if (job_.comm().size() == 1) GTEST_SKIP() << "needs another rank";
  Solver solver(job_);
  const Plan other = job_.plan(solver_units, job_.comm().rank() == 0 ? 1 : 100);
  error_of(ErrorCode::usage, [&] { solver.state.move_to(other); });
  solver.step();
  job_.download(solver.state);
  EXPECT_EQ(bits(solver.states()), bits(solver.expected(1)));
}

TEST_P(ArrayPasses, ArraysOfNoUnitsAndUnusedDevicesAreWell) {
  Array<float> none(job_, job_.plan(0));
  Array<float> one(job_, job_.plan(1));
  for (Array<float>* array : {&none, &one}) {
    job_.update(arrays(array->modify()), no_real_device,
                [](const HostTile&, std::span<float> values) { std::ranges::fill(values, 2.0F); });
  }
  job_.download(none, one);
  EXPECT_TRUE(none.host().empty());
  for (const float value : one.host()) EXPECT_EQ(value, 2.0F);
  Array<float> moved = std::move(one);
  EXPECT_EQ(moved.version(), 1);
}

INSTANTIATE_TEST_SUITE_P(Hardware, ArrayPasses, ::testing::Values(two_devices, device_elsewhere),
                         [](const auto& hardware) {
                           return hardware.param == std::string(two_devices) ? "Devices" : "Hosts";
                         });

}  // namespace
}  // namespace tessera::testing

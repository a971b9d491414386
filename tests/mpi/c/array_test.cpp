// SPDX-License-Identifier: Apache-2.0
// A solver over arrays by the C interface gives the results of `tessera::Array`, in a program that knows only
// the size of a unit.
#include "mpi/c/c_testing.hpp"

#include <cmath>
#include <vector>

namespace tessera::testing {
namespace {

constexpr std::int64_t units = 1000;
constexpr std::int64_t block = 16;

struct Row {
  double values[3];
};

Row row_of(std::int64_t unit) {
  const auto x = static_cast<double>(unit);
  return {{std::sin(x), std::cos(x), std::sin(2 * x)}};
}
double advanced(const Row& row, double state) {
  for (const double value : row.values) state = 0.75 * state + value;
  return state;
}

int advance_on_host(const tessera_host_tile* tile, void* const* arrays, void* context) {
  if (context != nullptr && *static_cast<const int*>(context) == rank_of_world()) return 7;
  const auto* const rows = static_cast<const Row*>(arrays[0]);
  auto* const states = static_cast<double*>(arrays[1]);
  for (std::int64_t i = 0; i < tile->range.end - tile->range.begin; ++i)
    states[i] = advanced(rows[i], states[i]);
  return 0;
}
int sum_on_host(const tessera_host_tile* tile, double* partial, void* const* arrays, void*) {
  const auto* const states = static_cast<const double*>(arrays[0]);
  for (std::int64_t i = 0; i < tile->range.end - tile->range.begin; ++i) partial[0] += states[i];
  return 0;
}

/// Constant rows, and a state for each, initially the number of its row.
struct Solver {
  explicit Solver(const OwnedJob& of)
      : job(of),
        plan(planned(job, units, block)),
        rows(array_over(job, plan, sizeof(Row))),
        states(array_over(job, plan, sizeof(double))) {
    const tessera_range mine = tessera_plan_local_range(plan.get());
    auto* const row = static_cast<Row*>(tessera_array_overwrite(rows.get()));
    auto* const state = static_cast<double*>(tessera_array_overwrite(states.get()));
    for (std::int64_t unit = mine.begin; unit < mine.end; ++unit) {
      row[unit - mine.begin] = row_of(unit);
      state[unit - mine.begin] = static_cast<double>(unit);
    }
  }

  [[nodiscard]] int step(int* failing_rank = nullptr) const {
    const tessera_array_use used[] = {{rows.get(), TESSERA_READ}, {states.get(), TESSERA_MODIFY}};
    return tessera_update(job.get(), used, 2, no_device, advance_on_host, failing_rank);
  }
  [[nodiscard]] int download() const {
    tessera_array* const list[] = {states.get(), rows.get()};
    return tessera_download(job.get(), list, 2);
  }
  [[nodiscard]] double sum() const {
    const tessera_array_use used{states.get(), TESSERA_READ};
    double result = 0;
    EXPECT_TRUE(ok(tessera_reduce_arrays(job.get(), &used, 1, 1, no_device, sum_on_host, nullptr, &result)));
    return result;
  }
  [[nodiscard]] std::int64_t version() const { return tessera_array_version(states.get()); }
  [[nodiscard]] std::int64_t host_version() const { return tessera_array_host_version(states.get()); }
  void expect_on_host(int steps, const OwnedPlan& by) const {
    const tessera_range mine = tessera_plan_local_range(by.get());
    const auto* const state = static_cast<const double*>(tessera_array_host(states.get()));
    for (std::int64_t unit = mine.begin; unit < mine.end; ++unit) {
      auto expected = static_cast<double>(unit);
      for (int i = 0; i < steps; ++i) expected = advanced(row_of(unit), expected);
      ASSERT_EQ(state[unit - mine.begin], expected) << unit;
    }
  }

  const OwnedJob& job;
  OwnedPlan plan;
  OwnedArray rows;
  OwnedArray states;
};

class CArray : public ::testing::Test {
 protected:
  ScopedVariable simulate_{"TESSERA_SIMULATE", "*:2xH200"};
};

TEST_F(CArray, StaysOnTheDevicesUntilItIsDownloaded) {
  const OwnedJob job = opened();
  const Solver solver(job);
  for (int step = 0; step < 5; ++step) ASSERT_EQ(solver.step(), TESSERA_OK) << tessera_error();
  EXPECT_EQ(std::string(tessera_job_verdict(job.get())),
            "computed on " + std::to_string(2 * size_of_world()) + " simulated devices");
  EXPECT_EQ(solver.version(), 6);
  EXPECT_EQ(solver.host_version(), 1);
  solver.expect_on_host(0, solver.plan);
  ASSERT_EQ(solver.download(), TESSERA_OK) << tessera_error();
  EXPECT_EQ(solver.host_version(), 6);
  solver.expect_on_host(5, solver.plan);
}

TEST_F(CArray, HasTheSameBitsOnAnyDevices) {
  double first = 0;
  for (const char* devices : {"*:2xH200", "*:T4", "rank99:T4"}) {
    const ScopedVariable simulate("TESSERA_SIMULATE", devices);
    tessera_options options = TESSERA_DEFAULT_OPTIONS;
    for (const double memory_fraction : {0.5, 3e-8}) {  // the second holds some blocks, and no tile
      options.memory_fraction = memory_fraction;
      const OwnedJob job = opened(&options);
      const Solver solver(job);
      for (int step = 0; step < 3; ++step) ASSERT_EQ(solver.step(), TESSERA_OK) << tessera_error();
      if (first == 0) first = solver.sum();
      EXPECT_EQ(solver.sum(), first) << devices;
      ASSERT_EQ(solver.download(), TESSERA_OK) << tessera_error();
      solver.expect_on_host(3, solver.plan);
    }
  }
}

/// Computes the next value from the last one: `read` and `write` of one array.
int square_on_host(const tessera_host_tile* tile, void* const* arrays, void*) {
  const auto* const last = static_cast<const double*>(arrays[0]);
  auto* const next = static_cast<double*>(arrays[1]);
  for (std::int64_t i = 0; i < tile->range.end - tile->range.begin; ++i) next[i] = last[i] * last[i] + 1;
  return 0;
}

TEST_F(CArray, IsReadAndWrittenInOnePass) {
  const OwnedJob job = opened();
  const OwnedPlan plan = planned(job, units);
  const OwnedArray array = array_over(job, plan, sizeof(double));
  const tessera_array_use used[] = {{array.get(), TESSERA_READ}, {array.get(), TESSERA_WRITE}};
  for (const auto on_device : std::initializer_list<tessera_device_update>{no_device, no_device, nullptr})
    ASSERT_TRUE(ok(tessera_update(job.get(), used, 2, on_device, square_on_host, nullptr)));
  tessera_array* const list[] = {array.get()};
  ASSERT_EQ(tessera_download(job.get(), list, 1), TESSERA_OK) << tessera_error();
  const tessera_range mine = tessera_plan_local_range(plan.get());
  const auto* const values = static_cast<const double*>(tessera_array_host(array.get()));
  for (std::int64_t i = 0; i < mine.end - mine.begin; ++i) ASSERT_EQ(values[i], 5) << "0, 1, 2, 5";
}

TEST_F(CArray, MovesToAnotherPlan) {
  const OwnedJob job = opened();
  const Solver solver(job);
  ASSERT_EQ(solver.step(), TESSERA_OK) << tessera_error();
  tessera_plan* weighted = nullptr;
  const auto increasing = [](std::int64_t unit, void*) { return static_cast<double>(unit); };
  ASSERT_EQ(tessera_plan_open_weighted(job.get(), units, block, increasing, nullptr, &weighted), TESSERA_OK);
  const OwnedPlan other(weighted);
  for (const OwnedArray* array : {&solver.rows, &solver.states})
    ASSERT_EQ(tessera_array_move_to(array->get(), other.get()), TESSERA_OK) << tessera_error();
  ASSERT_EQ(solver.step(), TESSERA_OK) << tessera_error();
  ASSERT_EQ(solver.download(), TESSERA_OK) << tessera_error();
  solver.expect_on_host(2, other);
  const OwnedPlan fewer = planned(job, units - 1);
  EXPECT_EQ(tessera_array_move_to(solver.rows.get(), fewer.get()), TESSERA_USAGE);
  expect_error_with("give two plans with the same number of units");
  EXPECT_EQ(tessera_array_move_to(solver.rows.get(), nullptr), TESSERA_USAGE);
}

TEST_F(CArray, APassThatFailsMakesNoVersion) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "rank99:H200");
  const OwnedJob job = opened();
  const Solver solver(job);
  ASSERT_EQ(solver.step(), TESSERA_OK) << tessera_error();
  int failing_rank = size_of_world() - 1;
  EXPECT_EQ(solver.step(&failing_rank), TESSERA_JOB_FAULT);
  expect_error_with("the host function returned 7 for the units beginning at");
  EXPECT_EQ(solver.version(), 2);
  solver.expect_on_host(1, solver.plan);
}

#ifdef TESSERA_HAVE_FAULTS
class CArrayFault : public CArray, public ::testing::WithParamInterface<int> {
 protected:
  /// A device of the last rank.
  [[nodiscard]] static std::string device() {
    return "rank" + std::to_string(size_of_world() - 1) + ".device1";
  }
  [[nodiscard]] static OwnedJob opened_with_action() {
    tessera_options options = TESSERA_DEFAULT_OPTIONS;
    options.on_device_failure = GetParam();
    return opened(&options);
  }
};

TEST_P(CArrayFault, ADeviceThatGivesItsDataBackCostsNoPass) {
  const ScopedVariable fault("TESSERA_FAULT", "throw@" + device() + ":pass3");
  const OwnedJob job = opened_with_action();
  const Solver solver(job);
  for (int step = 0; step < 5; ++step) ASSERT_EQ(solver.step(), TESSERA_OK) << tessera_error();
  EXPECT_EQ(tessera_job_on_host(job.get()), GetParam() == TESSERA_ON_FAILURE_CPU ? 1 : 0);
  ASSERT_EQ(solver.download(), TESSERA_OK) << tessera_error();
  solver.expect_on_host(5, solver.plan);
}

TEST_P(CArrayFault, ADeviceThatIsLostRollsBackToTheLastDownload) {
  const ScopedVariable fault("TESSERA_FAULT", "throw@" + device() + ":pass5,lost@" + device() + ":pass5");
  const OwnedJob job = opened_with_action();
  const Solver solver(job);
  for (int step = 0; step < 4; ++step) {
    ASSERT_EQ(solver.step(), TESSERA_OK) << tessera_error();
    if (step == 1) {
      ASSERT_EQ(solver.download(), TESSERA_OK) << tessera_error();
    }
  }
  EXPECT_EQ(solver.version(), 5);
  EXPECT_EQ(solver.step(), TESSERA_ROLLED_BACK);
  expect_error_with("all arrays have returned to their last host copies");
  EXPECT_EQ(solver.version(), 3);
  solver.expect_on_host(2, solver.plan);
  while (solver.version() < 6) ASSERT_EQ(solver.step(), TESSERA_OK) << tessera_error();
  ASSERT_EQ(solver.download(), TESSERA_OK) << tessera_error();
  solver.expect_on_host(5, solver.plan);
}

TEST_P(CArrayFault, ArraysMoveFromARankThatHasLostItsDevices) {
  if (GetParam() == TESSERA_ON_FAILURE_CPU || size_of_world() == 1) GTEST_SKIP() << "the job falls back";
  const ScopedVariable fault("TESSERA_FAULT", "throw@rank0:pass3");
  const OwnedJob job = opened_with_action();
  const Solver solver(job);
  for (int step = 0; step < 2; ++step) ASSERT_EQ(solver.step(), TESSERA_OK) << tessera_error();
  EXPECT_EQ(solver.step(), TESSERA_OUTDATED_PLAN);
  const OwnedPlan newer = planned(job, units, block);
  EXPECT_EQ(tessera_array_move_to(solver.rows.get(), newer.get()), TESSERA_OK) << tessera_error();
  EXPECT_EQ(tessera_array_move_to(solver.states.get(), newer.get()), TESSERA_OK) << tessera_error();
  ASSERT_EQ(solver.step(), TESSERA_OK) << tessera_error();
  EXPECT_EQ(tessera_job_on_host(job.get()), 0);
  ASSERT_EQ(solver.download(), TESSERA_OK) << tessera_error();
  solver.expect_on_host(3, newer);
}

INSTANTIATE_TEST_SUITE_P(Actions, CArrayFault,
                         ::testing::Values(TESSERA_ON_FAILURE_CPU, TESSERA_ON_FAILURE_EXCLUDE));
#endif

/// A wrong call on every rank, and then on the last one only: every rank gets the reason, and later passes
/// work.
class CArrayMisuse : public CArray {
 protected:
  void expect_refused(const std::vector<tessera_array_use>& wrong, const std::string& error) {
    for (const bool alone : {false, true}) {
      const bool is_wrong = !alone || rank_of_world() == size_of_world() - 1;
      const tessera_array_use right[] = {{solver_.rows.get(), TESSERA_READ},
                                         {solver_.states.get(), TESSERA_MODIFY}};
      const tessera_array_use* const used = is_wrong ? wrong.data() : right;
      const auto count = is_wrong ? static_cast<std::int32_t>(wrong.size()) : 2;
      for (const bool reduces : {false, true}) {
        double sum = 0;
        const int status =
            reduces ? tessera_reduce_arrays(job_.get(), used, count, 1, no_device, sum_on_host, nullptr, &sum)
                    : tessera_update(job_.get(), used, count, no_device, advance_on_host, nullptr);
        EXPECT_EQ(status, TESSERA_USAGE) << error;
        expect_error_with(error);
      }
    }
    EXPECT_EQ(solver_.version(), 1);
    EXPECT_EQ(tessera_job_on_host(job_.get()), 0);
  }

  OwnedJob job_ = opened();
  Solver solver_{job_};
};

TEST_F(CArrayMisuse, ArgumentsThatMakeNoPassAreRefusedOnEveryRank) {
  expect_refused({}, "arrays");  // null, or a count of 0
  expect_refused({{nullptr, TESSERA_READ}}, ": an array is null");
  expect_refused({{solver_.states.get(), 3}},
                 ": an array has the use 3: set the use to a value of tessera_use");
  ASSERT_EQ(solver_.step(), TESSERA_OK) << tessera_error();
  const tessera_array_use used{solver_.states.get(), TESSERA_MODIFY};
  EXPECT_EQ(tessera_update(job_.get(), &used, 0, no_device, advance_on_host, nullptr), TESSERA_USAGE);
  EXPECT_STREQ(tessera_error(), "tessera_update was given 0 arrays: give 1 or more");
  double sum = 0;
  EXPECT_EQ(tessera_reduce_arrays(job_.get(), &used, 1, 1, no_device, sum_on_host, nullptr,
                                  rank_of_world() == 0 ? nullptr : &sum),
            TESSERA_USAGE);
  expect_error_with("tessera_reduce_arrays: result is null");
  EXPECT_EQ(tessera_update(job_.get(), &used, 1, no_device, nullptr, nullptr), TESSERA_USAGE);
  expect_error_with("a function of the pass is null");
}

TEST_F(CArrayMisuse, ArraysThatDoNotGoTogetherAreRefused) {
  const OwnedPlan other = planned(job_, units + 1, block);
  const OwnedArray apart = array_over(job_, other, 8);
  const tessera_array_use of_two_plans[] = {{solver_.rows.get(), TESSERA_READ}, {apart.get(), TESSERA_WRITE}};
  EXPECT_EQ(tessera_update(job_.get(), of_two_plans, 2, no_device, advance_on_host, nullptr), TESSERA_USAGE);
  expect_error_with("must use one plan");
  const tessera_array_use twice[] = {{apart.get(), TESSERA_WRITE}, {apart.get(), TESSERA_MODIFY}};
  EXPECT_EQ(tessera_update(job_.get(), twice, 2, no_device, advance_on_host, nullptr), TESSERA_USAGE);
  expect_error_with("arrays 0 and 1 of a pass");
}

TEST_F(CArrayMisuse, UnitsOfAnotherSizeOnOneRankAreRefused) {
  if (size_of_world() == 1) GTEST_SKIP() << "needs another rank";
  const OwnedArray array = array_over(job_, solver_.plan, rank_of_world() == 0 ? 8 : 16);
  const tessera_array_use used{array.get(), TESSERA_WRITE};
  const auto nothing = [](const tessera_host_tile*, void* const*, void*) { return 0; };
  EXPECT_EQ(tessera_update(job_.get(), &used, 1, no_device, nothing, nullptr), TESSERA_USAGE);
  expect_error_with("is written, 8 bytes per unit");
  expect_error_with("is written, 16 bytes per unit");
}

TEST_F(CArrayMisuse, ArraysThatCannotBeOpenedOrDownloadedAreRefused) {
  tessera_array* array = nullptr;
  const bool last = rank_of_world() == size_of_world() - 1;
  EXPECT_EQ(tessera_array_open(job_.get(), last ? nullptr : solver_.plan.get(), 8, &array), TESSERA_USAGE);
  EXPECT_STREQ(tessera_error(), "tessera_array_open: plan is null");
  EXPECT_EQ(array, nullptr);
  EXPECT_EQ(tessera_array_open(job_.get(), solver_.plan.get(), 0, &array), TESSERA_USAGE);
  tessera_array* const list[] = {last ? nullptr : solver_.states.get()};
  EXPECT_EQ(tessera_download(job_.get(), list, 1), TESSERA_USAGE);
  EXPECT_STREQ(tessera_error(), "tessera_download: an array is null");
  EXPECT_EQ(tessera_download(job_.get(), list, 0), TESSERA_USAGE);
  tessera_array_close(nullptr);
}

}  // namespace
}  // namespace tessera::testing

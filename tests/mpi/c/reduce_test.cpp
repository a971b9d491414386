// SPDX-License-Identifier: Apache-2.0
#include "mpi/c/c_testing.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tessera::testing {
namespace {

constexpr std::int64_t reduced_units = 1000;

double value_of(std::int64_t unit) {
  return std::sin(static_cast<double>(unit));
}

int least_on_host(const tessera_host_tile* tile, void* value, void*) {
  auto& least = *static_cast<tessera_double_at*>(value);
  EXPECT_EQ(least.at, std::numeric_limits<std::int64_t>::max());
  for (std::int64_t unit = tile->range.begin; unit < tile->range.end; ++unit)
    if (value_of(unit) < least.value) least = {value_of(unit), unit};
  return 0;
}

/// The number of units, and of those that are above 0.
int counts_on_host(const tessera_host_tile* tile, void* value, void*) {
  auto* const counts = static_cast<std::int32_t*>(value);
  for (std::int64_t unit = tile->range.begin; unit < tile->range.end; ++unit) {
    ++counts[0];
    if (value_of(unit) > 0) ++counts[1];
  }
  return 0;
}

/// Consecutive units; without any, neither end is known.
struct Stretch {
  std::int64_t begin, end;
};
void join(void* left, const void* right, void* context) {
  auto& run = *static_cast<Stretch*>(left);
  const Stretch& next = *static_cast<const Stretch*>(right);
  EXPECT_EQ(*static_cast<const int*>(context), 48);
  EXPECT_EQ(run.end, next.begin) << "the right one follows";
  run.end = next.end;
}
int run_on_host(const tessera_host_tile* tile, void* value, void*) {
  *static_cast<Stretch*>(value) = {tile->range.begin, tile->range.end};
  return 0;
}

tessera_reducer reducer_of(std::int32_t operation, std::int32_t type, std::int64_t count = 1) {
  tessera_reducer reducer{};
  reducer.operation = operation;
  reducer.type = type;
  reducer.count = count;
  return reducer;
}

class CReduce : public ::testing::TestWithParam<const char*> {
 protected:
  int reduce(const tessera_reducer& reducer, tessera_host_function on_host, void* result) {
    return tessera_reduce_by(job_.get(), plan_.get(), &reducer, sizeof(double), no_device, on_host, nullptr,
                             result);
  }

  ScopedVariable simulate_{"TESSERA_SIMULATE", GetParam()};
  ScopedVariable no_fault_{"TESSERA_FAULT", std::nullopt};
  OwnedJob job_ = opened();
  OwnedPlan plan_ = planned(job_, reduced_units, 16);
};

TEST_P(CReduce, FindsTheLeastAndItsPlace) {
  tessera_double_at least{};
  ASSERT_TRUE(ok(reduce(reducer_of(TESSERA_MINIMUM_AT, TESSERA_DOUBLE), least_on_host, &least)));
  std::int64_t expected = 0;
  for (std::int64_t unit = 0; unit < reduced_units; ++unit)
    if (value_of(unit) < value_of(expected)) expected = unit;
  EXPECT_EQ(least.at, expected);
  EXPECT_EQ(least.value, value_of(expected));
}

TEST_P(CReduce, SumsSeveralIntegers) {
  std::int32_t counts[] = {-1, -1};
  ASSERT_TRUE(ok(reduce(reducer_of(TESSERA_SUM, TESSERA_INT32, 2), counts_on_host, counts)));
  std::int32_t above = 0;
  for (std::int64_t unit = 0; unit < reduced_units; ++unit) above += value_of(unit) > 0 ? 1 : 0;
  EXPECT_EQ(counts[0], reduced_units);
  EXPECT_EQ(counts[1], above);
}

TEST_P(CReduce, CombinesByAnOperationOfTheProgramInOrder) {
  int context = 48;
  const Stretch none{0, 0};
  tessera_reducer reducer = reducer_of(TESSERA_OWN, 0);
  reducer.value_bytes = sizeof(Stretch);
  reducer.identity = &none;
  reducer.combine = join;
  reducer.context = &context;
  Stretch all{};
  ASSERT_EQ(reduce(reducer, run_on_host, &all), TESSERA_OK) << tessera_error();
  EXPECT_EQ(all.begin, 0);
  EXPECT_EQ(all.end, reduced_units);
}

TEST_P(CReduce, EveryTypeHasItsExtremes) {
  const auto check = [&]<class Value>(Value, std::int32_t type) {
    const auto greatest_on_host = [](const tessera_host_tile* tile, void* value, void*) {
      auto& greatest = *static_cast<Value*>(value);
      EXPECT_LT(greatest, 0) << "that of no unit";
      greatest = static_cast<Value>(tile->range.end);
      return 0;
    };
    Value greatest{};
    EXPECT_TRUE(ok(reduce(reducer_of(TESSERA_MAXIMUM, type), greatest_on_host, &greatest)));
    EXPECT_EQ(greatest, static_cast<Value>(reduced_units));
  };
  check(0.0, TESSERA_DOUBLE);
  check(0.0f, TESSERA_FLOAT);
  check(std::int32_t{0}, TESSERA_INT32);
  check(std::int64_t{0}, TESSERA_INT64);
}

TEST_P(CReduce, ReducesArrays) {
  const OwnedArray array = array_over(job_, plan_, sizeof(double));
  auto* const values = static_cast<double*>(tessera_array_overwrite(array.get()));
  const tessera_range mine = tessera_plan_local_range(plan_.get());
  for (std::int64_t unit = mine.begin; unit < mine.end; ++unit) values[unit - mine.begin] = value_of(unit);
  const tessera_array_use used{array.get(), TESSERA_READ};
  const tessera_reducer reducer = reducer_of(TESSERA_MINIMUM, TESSERA_DOUBLE);
  double least = 0;
  const auto on_host = [](const tessera_host_tile* tile, void* value, void* const* arrays, void*) {
    auto& found = *static_cast<double*>(value);
    for (std::int64_t i = 0; i < tile->range.end - tile->range.begin; ++i)
      found = std::min(found, static_cast<const double*>(arrays[0])[i]);
    return 0;
  };
  ASSERT_TRUE(
      ok(tessera_reduce_arrays_by(job_.get(), &used, 1, &reducer, no_device, on_host, nullptr, &least)));
  double expected = 0;
  for (std::int64_t unit = 0; unit < reduced_units; ++unit) expected = std::min(expected, value_of(unit));
  EXPECT_EQ(least, expected);
}

TEST_P(CReduce, RefusesWhatIsNoReducer) {
  double result = 7;
  const auto refused = [&](const tessera_reducer& reducer, const std::string& text) {
    EXPECT_EQ(reduce(reducer, least_on_host, &result), TESSERA_USAGE);
    expect_error_with(text);
  };
  refused(reducer_of(17, TESSERA_DOUBLE), "the operation of the reducer is 17");
  refused(reducer_of(TESSERA_SUM, -1), "the type of the reducer is -1");
  refused(reducer_of(TESSERA_SUM, TESSERA_DOUBLE, 0), "the count of the reducer is 0");
  tessera_reducer own = reducer_of(TESSERA_OWN, 0);
  refused(own, "the identity of the reducer is null");
  own.identity = &result;
  refused(own, "the function of the reducer is null");
  own.combine = join;
  refused(own, "value_bytes is 0");
  EXPECT_EQ(
      tessera_reduce_by(job_.get(), plan_.get(), nullptr, 0, no_device, least_on_host, nullptr, &result),
      TESSERA_USAGE);
  expect_error_with("reducer is null");
  EXPECT_EQ(reduce(reducer_of(TESSERA_SUM, TESSERA_DOUBLE), nullptr, &result), TESSERA_USAGE);
  EXPECT_EQ(result, 7);
}

TEST_P(CReduce, AnotherReducerOnOneRankIsRefusedOnEveryRank) {
  if (size_of_world() == 1) GTEST_SKIP() << "one rank cannot disagree";
  const std::int32_t operation = rank_of_world() == 0 ? TESSERA_MINIMUM_AT : TESSERA_MAXIMUM_AT;
  tessera_double_at result{};
  EXPECT_EQ(reduce(reducer_of(operation, TESSERA_DOUBLE), least_on_host, &result), TESSERA_USAGE);
  expect_error_with("by operation 3");
}

INSTANTIATE_TEST_SUITE_P(Jobs, CReduce, ::testing::Values("rank9999:T4", "*:2xH200"),
                         [](const auto& test) { return test.index == 0 ? "hosts" : "devices"; });

}  // namespace
}  // namespace tessera::testing

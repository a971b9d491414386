// SPDX-License-Identifier: Apache-2.0
// Reductions by minima, positions, sums of integers, several reducers at once, and own operations.
#include "mpi/job/array_testing.hpp"
#include "mpi/job/reduce_testing.hpp"

#include <atomic>
#include <stdexcept>

namespace tessera::testing {
namespace {

struct Look {
  double least;
  Located<double> greatest;
  std::int64_t above;
};
using Looks = Fields<Field<&Look::least, Minimum<double>>, Field<&Look::greatest, MaximumAt<double>>,
                     Field<&Look::above, Sum<std::int64_t>>>;

Look look_at(std::int64_t unit) {
  const double value = unit_value(unit);
  return {value, {value, unit}, value > 0 ? 1 : 0};
}

Look look_at(Range units) {
  Look look = Looks::identity();
  for (std::int64_t unit = units.begin; unit < units.end; ++unit) look = Looks::combine(look, look_at(unit));
  return look;
}

void expect_look(const Look& look, const Look& expected) {
  EXPECT_EQ(look.least, expected.least);
  EXPECT_EQ(look.greatest.value, expected.greatest.value);
  EXPECT_EQ(look.greatest.at, expected.greatest.at);
  EXPECT_EQ(look.above, expected.above);
}

class Reductions : public ::testing::TestWithParam<std::tuple<const char*, int>> {
 protected:
  void expect_verdict() {
    const Verdict& verdict = job_.last_verdict();
    EXPECT_EQ(verdict.ran, job_.on_host() ? Verdict::Ran::host : Verdict::Ran::devices) << verdict;
    expect_same_on_all_ranks(job_.comm(), to_string(verdict));
  }

  ScopedVariable simulate_{"TESSERA_SIMULATE", std::get<0>(GetParam())};
  ScopedVariable fault_{"TESSERA_FAULT", std::nullopt};
  Job job_{world(), with_threads(std::get<1>(GetParam()))};
};

TEST_P(Reductions, HaveOneTreeForAnyRanksThreadsAndDevices) {
  for (const std::int64_t units : {1, 63, 64, 65, 5000, 20'011}) {
    EXPECT_EQ(shape_of(job_, job_.plan(units, 64)), expected_shape(units, 64)) << units;
    expect_verdict();
  }
  EXPECT_EQ(shape_of(job_, job_.plan(1000)), expected_shape(1000, 1));
  EXPECT_EQ(shape_of(job_, Plan::over_hosts(1000, job_.comm().size(), 3)), expected_shape(1000, 3));
}

TEST_P(Reductions, GiveTheIdentityOfNoUnit) {
  const Plan none = job_.plan(0);
  const auto never = [](const HostTile&, auto&) { ADD_FAILURE() << "there is no unit"; };
  EXPECT_EQ(job_.reduce(none, Minimum<double>{}, no_device, never), Minimum<double>::identity());
  EXPECT_EQ(job_.reduce(none, MaximumAt<float>{}, no_device, never).at, Located<float>::nowhere);
  EXPECT_EQ(job_.reduce(none, Sum<int>{}, no_device, never), 0);
}

TEST_P(Reductions, DoNotDependOnHowTilesAreCut) {
  EXPECT_EQ(shape_of(job_, job_.plan(4000, 8), (std::int64_t{8} << 30) / 20), expected_shape(4000, 8));
}

TEST_P(Reductions, CombineSeveralFieldsAtOnce) {
  const Plan plan = job_.plan(5000, 7);
  const auto on_host = [](const HostTile& tile, Look& look) {
    look = Looks::combine(look, look_at(tile.range));
  };
  expect_look(job_.reduce(plan, Looks{}, no_device, on_host), look_at(Range{0, 5000}));
  expect_verdict();
  expect_look(job_.reduce(plan, Looks{}, host_only, on_host), look_at(Range{0, 5000}));
  EXPECT_EQ(job_.last_verdict().ran, Verdict::Ran::host);
}

TEST_P(Reductions, OfArraysSeeTheirElements) {
  Solver solver(job_);
  solver.step();
  const auto least =
      job_.reduce(arrays(solver.state.read(), solver.matrix.read()), MinimumAt<double>{}, no_device,
                  [&](const HostTile& tile, Located<double>& value, std::span<const double> states,
                      std::span<const double> rows) {
                    EXPECT_EQ(std::ssize(states), tile.range.size());
                    EXPECT_EQ(rows.size(), states.size() * matrix_width);
                    for (std::size_t i = 0; i < states.size(); ++i)
                      value = MinimumAt<double>::combine(
                          value, {states[i], tile.range.begin + static_cast<std::int64_t>(i)});
                  });
  const auto expected = expected_states({0, solver_units}, 1);
  const auto place = std::ranges::min_element(expected);
  EXPECT_EQ(least.value, *place);
  EXPECT_EQ(least.at, place - expected.begin());
}

/// The sum of doubles without rounding, as a program's own operation.
struct Exact {
  using Value = SumElement;
  static Value identity() { return {}; }
  static Value combine(Value left, const Value& right) {
    merge_into(left, right);
    return left;
  }
};

TEST_P(Reductions, ByAnExactSumHaveTheBitsOfTheSum) {
  const Plan plan = job_.plan(5000, 64);
  const SumElement sum = job_.reduce(plan, Exact{}, no_device, [](const HostTile& tile, SumElement& element) {
    std::vector<double> partial(sum_width);
    add_block(tile.range, partial);
    add_to(element, partial[1]);
  });
  EXPECT_EQ(bits({rounded(sum)}), bits({reduce_units(job_, plan)[1]}));
}

/// A reducer with state, whose operation fails as scripted.
struct Failing {
  using Value = std::int64_t;
  const std::atomic<bool>* fails;
  [[nodiscard]] Value identity() const { return 0; }
  [[nodiscard]] Value combine(Value left, Value right) const {
    if (*fails) throw std::domain_error("the values do not fit");
    return left + right;
  }
};

TEST_P(Reductions, AnOperationThatThrowsEndsThePassOnEveryRank) {
  const Plan plan = Plan::over_hosts(100 * job_.comm().size(), job_.comm().size());
  const std::atomic<bool> fails = job_.comm().rank() == job_.comm().size() - 1;
  const auto count = [&](const Failing& reducer) {
    return job_.reduce(plan, reducer, no_device, [](const HostTile&, std::int64_t& value) { ++value; });
  };
  std::string message;
  try {
    (void)count({&fails});
  } catch (const std::exception& error) {
    message = error.what();
  }
  EXPECT_NE(message.find("the values do not fit"), std::string::npos) << message;
  const std::atomic<bool> never = false;
  EXPECT_EQ(count({&never}), 100 * job_.comm().size());
}

INSTANTIATE_TEST_SUITE_P(Jobs, Reductions,
                         ::testing::Combine(::testing::Values("rank9999:T4", "*:H200",
                                                              "rank0:2xH200+T4; rank1:T4; *:A100+L40S",
                                                              "rank0:H200; rank2:2xT4; rank7:V100"),
                                            ::testing::Values(1, 3)),
                         [](const auto& test) { return "Case" + std::to_string(test.index); });

TEST(ReductionsOfHosts, HaveTheSameTreeBesideDevices) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:2xH200");
  const ScopedVariable fault("TESSERA_FAULT", std::nullopt);
  JobOptions options = with_threads(4);
  options.hosts = true;
  options.score_model = ScoreModel::measured;
  options.measure = [](Tile&) { return std::int64_t{1}; };
  options.measure_on_host = [](const HostTile&) { return std::int64_t{1}; };
  Job job(world(), options);
  const Plan plan = even_plan(job, 5000, 16);
  EXPECT_EQ(shape_of(job, plan), expected_shape(5000, 16));
  EXPECT_EQ(job.last_verdict().hosts, job.comm().size()) << job.last_verdict();
  EXPECT_EQ(shape_of(job, plan, 1), expected_shape(5000, 16));
}

TEST(ReductionsOfStreams, HaveTheSameTreeInPartsOfArrays) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:T4");
  const ScopedVariable fault("TESSERA_FAULT", std::nullopt);
  JobOptions options = with_threads(1);
  options.memory_fraction = 4000.0 / static_cast<double>(std::int64_t{16} << 30);
  Job job(world(), options);
  const Plan plan = job.plan(1000 * job.comm().size(), 10);
  Array<std::int64_t> numbers(job, plan);
  std::int64_t unit = job.local_range(plan).begin;
  for (std::int64_t& number : numbers.overwrite()) number = unit++;
  for (int pass = 0; pass < 2; ++pass) {
    const auto shape =
        job.reduce(arrays(numbers.modify()), Shape{}, no_device,
                   [&](const HostTile& tile, std::uint64_t& value, std::span<std::int64_t> own) {
                     EXPECT_EQ(own.front(), tile.range.begin + pass);
                     value = shape_of_block(tile.range);
                     for (std::int64_t& number : own) ++number;
                   });
    EXPECT_EQ(shape, expected_shape(plan.units(), 10));
    EXPECT_EQ(job.last_verdict().ran, Verdict::Ran::devices) << job.last_verdict();
  }
  EXPECT_GT(numbers.traffic().uploads, 4) << "in parts";
}

class ReductionMisuse : public ::testing::Test {
 protected:
  [[nodiscard]] bool on_last() const { return job_.comm().rank() == job_.comm().size() - 1; }

  ScopedVariable simulate_{"TESSERA_SIMULATE", "*:T4"};
  ScopedVariable fault_{"TESSERA_FAULT", std::nullopt};
  Job job_{world()};
};

TEST_F(ReductionMisuse, AnotherOperationOrTypeOnOneRankIsNamed) {
  if (job_.comm().size() == 1) GTEST_SKIP() << "one rank cannot disagree";
  const Plan plan = job_.plan(100);
  const auto nothing = [](const HostTile&, auto&&) {};
  const std::string operation = misuse_of([&] {
    if (on_last())
      (void)job_.reduce(plan, Maximum<double>{}, no_device, nothing);
    else
      (void)job_.reduce(plan, Minimum<double>{}, no_device, nothing);
  });
  EXPECT_NE(operation.find("Maximum<double>"), std::string::npos) << operation;
  const std::string sum = misuse_of([&] {
    if (on_last())
      (void)job_.reduce(plan, Sum<double>{}, no_device, nothing);
    else
      (void)job_.reduce(plan, 1, no_device, nothing);
  });
  EXPECT_NE(sum.find("Sum<double>"), std::string::npos) << sum;
}

TEST_F(ReductionMisuse, ANullFunctionIsRefused) {
  const Plan plan = job_.plan(100);
  void (*const none)(const HostTile&, std::int64_t&) = nullptr;
  EXPECT_NE(misuse_of([&] { (void)job_.reduce(plan, Sum<std::int64_t>{}, no_device, none); }).find("is null"),
            std::string::npos);
  const Array<double> array(job_, plan);
  void (*const no_sum)(const HostTile&, std::span<double>, std::span<const double>) = nullptr;
  EXPECT_NE(misuse_of([&] { (void)job_.reduce(arrays(array.read()), 1, no_device, no_sum); }).find("is null"),
            std::string::npos);
}

}  // namespace
}  // namespace tessera::testing

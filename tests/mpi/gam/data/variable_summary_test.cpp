// SPDX-License-Identifier: Apache-2.0
#include "gam/data/frame/variable_summary.hpp"
#include "gam/data/table_source.hpp"
#include "support/each_width.hpp"
#include "support/table_support.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <variant>
#include <vector>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

/// This rank's part of a frame of numeric variables that every rank knows whole.
Frame part_of(const mpi::Communicator& comm, const std::vector<std::vector<double>>& columns,
              const std::vector<std::uint8_t>& complete, std::uint64_t seed) {
  Frame frame;
  frame.file_rows = std::ssize(complete);
  frame.rows = uneven_share(comm, frame.file_rows, seed);
  for (const std::vector<double>& column : columns) {
    Variable variable;
    variable.name = std::string(1, static_cast<char>('u' + std::ssize(frame.variables)));
    variable.numbers.own().assign(column.begin() + frame.rows.begin, column.begin() + frame.rows.end);
    frame.variables.push_back(variable);
  }
  frame.complete.own().assign(complete.begin() + frame.rows.begin, complete.begin() + frame.rows.end);
  frame.complete_rows = std::count(complete.begin(), complete.end(), std::uint8_t{1});
  return frame;
}

/// R's quantile(x, 0.5, type = 3), line by line.
double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const double place = static_cast<double>(values.size()) * 0.5 - 0.5;
  const auto j = static_cast<std::int64_t>(std::floor(place));
  const bool next = place > static_cast<double>(j) || j % 2 == 1;
  return values[static_cast<std::size_t>(std::max<std::int64_t>(j + (next ? 1 : 0), 1) - 1)];
}

using VariableSummaries = OverRanks;

TEST_F(VariableSummaries, HasTheMedianOfASortOfTheColumn) {
  std::mt19937_64 random(static_cast<std::uint64_t>(20 + comm.size()));
  for (int trial = 0; trial < 24; ++trial) {
    // Long columns too, whose sample brackets the median; ties, and values of all magnitudes.
    const auto rows = 1 + random() % (trial % 4 == 0 ? 30'000 : 60);
    std::vector<double> values;
    std::vector<std::uint8_t> complete;
    std::vector<double> kept;
    for (std::uint64_t i = 0; i < rows; ++i) {
      const double sign = random() % 2 == 0 ? 1 : -1;
      const double magnitude =
          std::ldexp(1 + static_cast<double>(random() % 1000), static_cast<int>(random() % 600) - 300);
      values.push_back(trial % 3 == 0 ? static_cast<double>(random() % 5) - 2 : sign * magnitude);
      complete.push_back(random() % 8 == 0 && i > 0 ? 0 : 1);
      if (trial % 5 == 4 && random() % 9 == 0 && i > 0)
        values.back() = no_number;  // a missing value of a column outside the model
      if (complete.back() != 0 && !std::isnan(values.back())) kept.push_back(values.back());
    }
    Frame frame = part_of(comm, {values}, complete, static_cast<std::uint64_t>(trial));
    HostTeam team(trial % 4 + 1);
    const std::array<std::size_t, 1> all{0};
    rows_test::at_each_width([&] {
      const auto summaries = summaries_of({comm, team}, frame, all, 1);
      ASSERT_EQ(summaries.size(), 1U);
      EXPECT_EQ(summaries[0].median, median_of(kept)) << "trial " << trial;
      EXPECT_EQ(summaries[0].least, *std::ranges::min_element(kept));
      EXPECT_EQ(summaries[0].greatest, *std::ranges::max_element(kept));
    });
  }
}

// The sampled rows may differ from the complete ones, and many values may be equal.
TEST_F(VariableSummaries, HasTheMediansThatWereSoughtWhileATableInMemoryWasRead) {
  std::mt19937_64 random(20);
  for (int trial = 0; trial < 12; ++trial) {
    const auto rows = static_cast<std::int64_t>(trial % 4 == 0 ? 40'000
                                                : trial == 2   ? 1
                                                               : 1 + random() % 3'000);
    const Plan plan = Plan::over_hosts(rows, comm.size(), 64);
    const Range mine = plan.range_of(comm.rank());
    Table table{plan, {{"x", std::vector<double>()}, {"y", std::vector<double>()}}};
    std::vector<double> kept;
    for (std::int64_t i = 0; i < rows; ++i) {
      const double x =
          trial % 3 == 0 ? static_cast<double>(random() % 4) : std::ldexp(static_cast<double>(random()), -60);
      const bool missing = i > 0 && (trial % 5 == 1 ? x > 2 : random() % 9 == 0);
      if (!missing) kept.push_back(x);
      if (i < mine.begin || i >= mine.end) continue;
      std::get<std::vector<double>>(table.columns[0].values).push_back(x);
      std::get<std::vector<double>>(table.columns[1].values).push_back(missing ? no_number : x);
    }
    HostTeam team(trial % 3 + 1);
    FrameRequest request;
    request.variables = {column_expression("y"), column_expression("x")};
    request.medians = {"x"};
    const auto reader = open_source({comm, team}, source_of(table), nullptr);
    Frame frame = reader->read({comm, team}, request, mine);
    EXPECT_TRUE(frame.near_medians[0].empty());
    EXPECT_EQ(std::ssize(frame.near_medians[1]), team.size());
    std::int64_t found = 0;
    for (const BoundedValues& one : frame.near_medians[1]) {
      EXPECT_EQ(one.range, frame.near_medians[1].front().range) << "a thread without rows has it too";
      EXPECT_LE(one.range.first, one.range.last);
      found += one.below + (one.inside.empty() && one.all_kept ? 0 : 1);
    }
    EXPECT_GT(comm.allreduce(found, mpi::Reduction::sum), 0);
    const std::array<std::size_t, 2> both{0, 1};
    for (const VariableSummary& summary : summaries_of({comm, team}, frame, both, 1))
      EXPECT_EQ(summary.median, median_of(kept)) << summary.name << ", trial " << trial;
  }
}

TEST_F(VariableSummaries, HasTheFirstOfTheMostFrequentLevels) {
  HostTeam team(3);
  const std::vector<std::int32_t> codes{2, 0, 2, 1, 1, -1, 0, 0, 2, 1, 0};
  const std::vector<std::uint8_t> complete{1, 1, 1, 1, 1, 1,
                                           1, 1, 1, 1, 0};  // three of each, without the last
  Frame frame = part_of(comm, {std::vector<double>(codes.size())}, complete, 3);
  Variable& variable = frame.variables[0];
  variable.factor = true;
  variable.codes.own().assign(codes.begin() + frame.rows.begin, codes.begin() + frame.rows.end);
  variable.levels = {"b", "a", "c"};
  const std::array<std::size_t, 1> all{0};
  EXPECT_EQ(summaries_of({comm, team}, frame, all, 1)[0].level, "b");
}

TEST_F(VariableSummaries, LeavesOutWhatHasNoFiniteValue) {
  HostTeam team(2);
  const double infinity = std::numeric_limits<double>::infinity();
  Frame frame = part_of(comm, {{1, infinity}, {no_number, no_number}, {3, 4}}, {1, 1}, 1);
  const std::array<std::size_t, 3> all{0, 1, 2};
  const auto summaries = summaries_of({comm, team}, frame, all, 1);
  ASSERT_EQ(summaries.size(), 1U);
  EXPECT_EQ(summaries[0].name, "w");
  EXPECT_EQ(summaries[0].median, 3);
}

TEST(Occupancy, IsWhereCompleteRowsAre) {
  const mpi::Communicator comm = world();
  HostTeam team(2);
  const Frame frame = part_of(comm, {{0, 40, 10.5, 20}, {-1, 3, 1, 0}}, {1, 1, 1, 0}, 5);
  const Occupancy found = occupancy_of({comm, team}, frame, 0, 1);
  std::vector<std::string> expected(40, std::string(40, '0'));
  expected[0][0] = expected[39][39] = expected[20][10] = '1';
  EXPECT_EQ(found.cells, expected);
  EXPECT_EQ(found.x, "u");
  EXPECT_EQ(found.y, "v");
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing

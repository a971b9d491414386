// SPDX-License-Identifier: Apache-2.0
// The sample of its data that a fit keeps for a report. A bits test compares numbers of ranks.
#include "gam/data/frame/sampled_rows.hpp"
#include "support/fit_support.hpp"
#include "support/reference_case.hpp"
#include "support/table_support.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <tessera/tessera.hpp>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

TEST(SampledRows, AreAllOfAFew) {
  EXPECT_EQ(sampled_rows(0), std::vector<std::int64_t>{});
  EXPECT_EQ(sampled_rows(5), (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(sampled_rows(4096).back(), 4095);
}

TEST(SampledRows, AreOneOfEachEqualPart) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t rows : {std::int64_t{4097}, std::int64_t{10'000'019}, most}) {
    const auto sample = sampled_rows(rows);
    ASSERT_EQ(sample.size(), 4096U);
    const double part = static_cast<double>(rows) / 4096;
    for (std::size_t i = 0; i < sample.size(); ++i) {
      const double place = static_cast<double>(sample[i]) / part - static_cast<double>(i);
      // The edges of a part are rounded down to rows.
      EXPECT_GE(place, -1 / part) << "row " << sample[i] << " of " << rows;
      EXPECT_LT(place, 1 + 1e-9) << "row " << sample[i] << " of " << rows;
    }
    EXPECT_LT(sample.back(), rows);
    EXPECT_TRUE(std::is_sorted(sample.begin(), sample.end()));
  }
}

TEST(SampledRows, AreInStepWithNoPeriodOfTheTable) {
  // Hourly rows of some years: a fixed stride of 24 rows would see only one hour of the day.
  std::set<std::int64_t> hours;
  for (const std::int64_t row : sampled_rows(24 * 4096)) hours.insert(row % 24);
  EXPECT_EQ(hours.size(), 24U);
}

FittedModel fitted(const testing::ReferenceCase& reference, bool residuals = true) {
  FitOptions options = testing::options_of(reference);
  options.residuals = residuals;
  return testing::fitted(testing::world(), reference.formula, testing::in_blocks(reference.data_path, 64),
                         options, 2);
}

bool is_root() {
  return mpi::Communicator::duplicate_of(MPI_COMM_WORLD).rank() == 0;
}

void expect_outline(const FittedModel& model, const testing::ReferenceCase& reference) {
  const DataOutline& outline = model.outline;
  const auto sample = sampled_rows(model.rows);
  ASSERT_EQ(outline.linear_predictor.size(), sample.size());
  ASSERT_EQ(outline.deviance_residual.size(), sample.size());
  std::vector<double> expected;
  for (const std::int64_t row : sample) {
    expected.push_back(reference.linear_predictor[static_cast<std::size_t>(row)]);
  }
  EXPECT_LE(testing::relative_to_range(outline.linear_predictor, expected), 1e-6);
  for (const VariableOutline& variable : outline.variables) {
    const auto& values = reference.numbers.at(variable.name);
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    EXPECT_EQ(variable.min, *low) << variable.name;
    EXPECT_EQ(variable.max, *high) << variable.name;
    std::vector<std::int64_t> counts(variable.counts.size());
    for (const std::int64_t row : sample) {
      const double share = (values[static_cast<std::size_t>(row)] - *low) / (*high - *low);
      const auto part = static_cast<std::size_t>(share * static_cast<double>(counts.size()));
      ++counts[std::min(part, counts.size() - 1)];
    }
    EXPECT_EQ(variable.counts, counts) << variable.name;
  }
}

class AllRows : public ::testing::TestWithParam<const char*> {};

TEST_P(AllRows, HaveResidualsThatAddUpToTheDeviance) {
  const auto reference = testing::load_reference_case(GetParam());
  const FittedModel model = fitted(reference);
  if (!is_root()) return;
  ASSERT_LE(model.rows, largest_sample);
  expect_outline(model, reference);
  const auto& residuals = model.outline.deviance_residual;
  const double sum = std::inner_product(residuals.begin(), residuals.end(), residuals.begin(), 0.0);
  EXPECT_NEAR(sum / model.deviance, 1, 1e-5);
  EXPECT_LT(*std::min_element(residuals.begin(), residuals.end()), 0);
  EXPECT_GT(*std::max_element(residuals.begin(), residuals.end()), 0);
}

INSTANTIATE_TEST_SUITE_P(Cases, AllRows,
                         ::testing::Values("c01_mcycle_gauss", "m03_poisson_offset_cp", "m07_gamma_weights",
                                           "m06_binomial_trials_by", "m16_inverse_gaussian"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST(Outline, OfALongTableIsASample) {
  const auto reference = testing::load_reference_case("c10_diamonds_gauss");
  const FittedModel model = fitted(reference);
  if (is_root()) expect_outline(model, reference);
}

TEST(Outline, IsOfTheCompleteRows) {
  // Stretches whose rows are complete all, in part, or not at all.
  std::vector<double> complete;
  std::string table = "y,x\n";
  for (int row = 0; row < 20'000; ++row) {
    const double y = std::sin(row * row % 1009);
    const bool missing = row < 6000     ? false
                         : row < 11'000 ? row % 3 == 0
                         : row < 16'000 ? true
                                        : row % 97 == 5;
    table += (missing ? "NA" : std::to_string(y)) + "," + std::to_string(row % 641) + "\n";
    if (!missing) complete.push_back(y);
  }
  const auto world = testing::world();
  const testing::SharedFile file(world, "holes.csv", table);
  const FittedModel model =
      testing::fitted(world, "y ~ s(x, bs=\"ps\", k=8)", testing::in_blocks(file.path(), 64), {}, 2);
  if (!is_root()) return;
  const auto sample = sampled_rows(static_cast<std::int64_t>(complete.size()));
  const DataOutline& outline = model.outline;
  ASSERT_EQ(outline.linear_predictor.size(), sample.size());
  for (std::size_t i = 0; i < sample.size(); ++i) {
    EXPECT_NEAR(outline.linear_predictor[i] + outline.deviance_residual[i],
                complete[static_cast<std::size_t>(sample[i])], 1e-5)
        << "the sampled row " << i;
  }
}

TEST(StoredRows, AreThoseOfTheTableOnAnyRanks) {
  std::string table = "y,x,g,e,unread\n";
  const auto is_missing = [](int row) { return row % 7 == 2; };
  const auto y = [](int row) { return std::sin(row * row % 1009); };
  std::vector<int> complete;
  for (int row = 0; row < 9000; ++row) {
    table += (is_missing(row) ? "NA" : std::to_string(y(row))) + "," + std::to_string(row % 641) + "," +
             (row % 3 == 1 ? "b" : "a") + "," + std::to_string(1 + row % 5) + ",1\n";
    if (!is_missing(row)) complete.push_back(row);
  }
  const auto world = testing::world();
  const testing::SharedFile file(world, "stored.csv", table);
  const auto fitted = [&](int sample) {
    return testing::fitted(world, "I(2 * y) ~ s(log(x + 1), k=5) + g", testing::in_blocks(file.path(), 64),
                           {.weights = "e / 2", .residuals = false, .sample = sample}, 2);
  };
  const SampledRows stored = fitted(1000).sample;
  EXPECT_THROW(static_cast<void>(fitted(2001)), Error);
  if (!is_root()) return;
  const auto rows = sampled_rows(static_cast<std::int64_t>(complete.size()), 1000);
  ASSERT_EQ(stored.rows.size(), rows.size());
  ASSERT_EQ(stored.columns.size(), 4U);
  const auto values = [&](const char* name) {
    return std::ranges::find(stored.columns, name, &SampledRows::Column::name)->values;
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const int row = complete[static_cast<std::size_t>(rows[i])];
    EXPECT_EQ(stored.rows[i], row);
    EXPECT_NEAR(values("y")[i], y(row), 1e-6);
    EXPECT_EQ(values("x")[i], row % 641);
    EXPECT_EQ(values("e")[i], 1 + row % 5);
    EXPECT_EQ(values("g")[i], row % 3 == 1 ? 1 : 0);
  }
  const auto g = std::ranges::find(stored.columns, "g", &SampledRows::Column::name);
  EXPECT_EQ(g->levels, (std::vector<std::string>{"a", "b"}));
}

TEST(Outline, HasNoResidualsWhereTheyAreNotWanted) {
  const FittedModel model = fitted(testing::load_reference_case("c01_mcycle_gauss"), false);
  EXPECT_TRUE(model.outline.linear_predictor.empty());
  EXPECT_TRUE(model.outline.deviance_residual.empty());
  EXPECT_EQ(model.outline.variables.size(), 1U);
  EXPECT_TRUE(model.outline.summaries.empty());
  EXPECT_TRUE(model.outline.occupancy.empty());
}

TEST(Outline, HasTypicalValuesOfVariablesAndOfTheColumnsThatTheyRead) {
  std::string table = "y,x,z,g,e\n";
  for (int row = 0; row < 601; ++row) {
    table += std::to_string(std::sin(row)) + "," + std::to_string(1 + row % 199) + "," +
             (row % 50 == 3 ? "NA" : std::to_string(row % 60)) + "," + (row % 3 == 1 ? "b" : "a") + ",2\n";
  }
  const auto world = testing::world();
  const testing::SharedFile file(world, "typical.csv", table);
  double mean_of_x = 0;
  int complete = 0;
  for (int row = 0; row < 601; ++row) {
    if (row % 50 == 3) continue;
    mean_of_x += 1 + row % 199;
    ++complete;
  }
  mean_of_x /= complete;
  // Expressions of numbers are evaluated as the file is read; a comparison with a level reads columns first.
  for (const std::string computed : {"", " + I(g == \"a\")"}) {
    const FittedModel model =
        testing::fitted(world, "y ~ s(log(x), k=5) + te(x, z, k=3) + g + offset(log(e))" + computed,
                        testing::in_blocks(file.path(), 64), {.sample = 1}, 2);
    const auto summary = [&](const std::string& name) {
      const auto& all = model.outline.summaries;
      const auto found = std::ranges::find(all, name, &VariableSummary::name);
      EXPECT_NE(found, all.end()) << name;
      return found == all.end() ? VariableSummary{} : *found;
    };
    EXPECT_EQ(summary("x").least, 1);
    EXPECT_EQ(summary("x").greatest, 199);
    EXPECT_EQ(summary("log(x)").greatest, std::log(199.0));
    EXPECT_EQ(summary("z").greatest, 59);
    EXPECT_EQ(summary("g").level, "a");
    EXPECT_EQ(summary("e").median, 2);
    EXPECT_EQ(summary("e").mean, 2);
    EXPECT_NEAR(summary("x").mean, mean_of_x, 1e-12 * mean_of_x);
    EXPECT_TRUE(std::isnan(summary("g").mean));
    EXPECT_EQ(std::ranges::count(model.outline.summaries, "y", &VariableSummary::name), 0);
    ASSERT_EQ(model.outline.occupancy.size(), 1U);
    EXPECT_EQ(model.outline.occupancy[0].x, "x");
    EXPECT_EQ(model.outline.occupancy[0].cells.size(), 40U);
  }
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam

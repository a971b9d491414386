// SPDX-License-Identifier: Apache-2.0
#include "gam/design/standardise.hpp"

#include "gam/design/build_design.hpp"
#include "gam/linalg/linalg.hpp"
#include "support/design_support.hpp"
#include "support/shared_world.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <tessera/tessera.hpp>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// 300 rows, divided among the ranks; one in ten has a missing value.
Frame far_table() {
  constexpr std::int64_t rows = 300;
  std::mt19937_64 random(3);
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  Frame frame;
  frame.file_rows = rows;
  frame.rows = {rows * testing::shared_world().rank() / testing::shared_world().size(),
                rows * (testing::shared_world().rank() + 1) / testing::shared_world().size()};
  for (const char* name : {"y", "n", "e", "yr", "I(yr^2)", "I(yr^3)"})
    frame.variables.push_back({name, false, {}, {}, {}});
  frame.variables.push_back({"f", true, {}, {}, {"a", "b", "c"}});
  frame.variables.push_back({"g", true, {}, {}, {"p", "q"}});
  for (std::int64_t row = 0; row < rows; ++row) {
    const double yr = 1950 + std::floor(71 * uniform());
    const std::vector<double> numbers{
        uniform(), 5.5e6 + 2000 * uniform(), 4e5 + 10 * uniform(), yr, yr * yr, yr * yr * yr};
    const auto f = static_cast<int>(random() % 3);
    const auto g = static_cast<int>(random() % 2);
    const bool complete = random() % 10 != 0;
    frame.complete_rows += complete ? 1 : 0;
    if (row < frame.rows.begin || row >= frame.rows.end) continue;
    for (std::size_t i = 0; i < numbers.size(); ++i)
      frame.variables[i].numbers.own().push_back(complete ? numbers[i] : NAN);
    frame.variables[6].codes.own().push_back(complete ? f : -1);
    frame.variables[7].codes.own().push_back(complete ? g : -1);
    frame.complete.own().push_back(complete ? 1 : 0);
  }
  return frame;
}

Design standardised(const std::string& formula, const Frame& frame) {
  const FormulaTerms parsed = parse_terms(formula);
  HostTeam team(2);
  const Standards standards = standards_of(testing::shared_world(), parsed, frame, 32, team);
  const DesignDraft draft = draft_design({testing::shared_world(), team}, parsed, frame, {}, standards);
  return finish_design(draft, std::vector<double>(static_cast<std::size_t>(draft.design.raw_size)),
                       frame.complete_rows);
}

std::vector<double> coefficient_row_of(const Design& design, const Frame& frame, std::size_t row) {
  return multiply_t(design.map(), testing::raw_row(design, frame, row));
}

class Columns : public ::testing::TestWithParam<const char*> {};

/// Every column equals its combination of the formula's columns, in which its own factor is a power of two.
TEST_P(Columns, AreTheCombinationsThatTheySay) {
  const Frame frame = far_table();
  const Design plain =
      testing::design_of(testing::shared_world(), GetParam(), frame, {}, frame.complete_rows);
  const Design design = standardised(GetParam(), frame);
  const std::vector<ColumnCombination> combinations = design.combinations();
  ASSERT_EQ(design.coef_size, plain.coef_size);
  ASSERT_EQ(combinations.size(), static_cast<std::size_t>(design.coef_size));
  EXPECT_EQ(design.coef_names(), plain.coef_names());
  for (std::size_t j = 0; j < combinations.size(); ++j) {
    bool own = false;
    for (const auto& [column, factor] : combinations[j]) {
      if (static_cast<std::size_t>(column) != j) continue;
      own = true;
      EXPECT_EQ(std::exp2(std::round(std::log2(factor))), factor);
    }
    EXPECT_TRUE(own);
  }
  for (std::size_t row = 0; row < frame.complete.size(); ++row) {
    if (frame.complete[row] == 0) continue;
    const std::vector<double> formula = coefficient_row_of(plain, frame, row);
    const std::vector<double> mine = coefficient_row_of(design, frame, row);
    for (std::size_t j = 0; j < mine.size(); ++j) {
      long double sum = 0;
      long double size = 0;
      for (const auto& [column, factor] : combinations[j]) {
        const long double part = static_cast<long double>(factor) * formula[static_cast<std::size_t>(column)];
        sum += part;
        size += std::abs(part);
      }
      ASSERT_NEAR(mine[j], static_cast<double>(sum), 1e-14 * static_cast<double>(size))
          << design.coef_names()[j];
    }
  }
}

/// Crossproducts lose no more than three digits of the part that each column adds to earlier ones.
TEST_P(Columns, AreFarFromDependent) {
  const Frame frame = far_table();
  const Design design = standardised(GetParam(), frame);
  Matrix gram(design.coef_size, design.coef_size);
  for (std::size_t row = 0; row < frame.complete.size(); ++row) {
    if (frame.complete[row] == 0) continue;
    const std::vector<double> x = coefficient_row_of(design, frame, row);
    for (int j = 0; j < gram.cols(); ++j) {
      for (int i = 0; i < gram.rows(); ++i)
        gram(i, j) += x[static_cast<std::size_t>(i)] * x[static_cast<std::size_t>(j)];
    }
  }
  testing::shared_world().allreduce(gram.values(), mpi::Reduction::sum);
  Matrix correlation = gram;
  for (int j = 0; j < gram.cols(); ++j) {
    for (int i = 0; i < gram.rows(); ++i) correlation(i, j) /= std::sqrt(gram(i, i)) * std::sqrt(gram(j, j));
  }
  const auto lower = cholesky(correlation);
  ASSERT_TRUE(lower);
  for (int i = 0; i < gram.rows(); ++i)
    EXPECT_GT((*lower)(i, i) * (*lower)(i, i), 1e-3) << design.coef_names()[static_cast<std::size_t>(i)];
}

INSTANTIATE_TEST_SUITE_P(Formulas, Columns,
                         ::testing::Values("y ~ n", "y ~ n + e", "y ~ n*e", "y ~ n*e*yr", "y ~ yr + I(yr^2)",
                                           "y ~ yr + I(yr^2) + I(yr^3)", "y ~ I(yr^2) + yr", "y ~ f*n",
                                           "y ~ f + f:n", "y ~ f*g*n", "y ~ f*g + f:g:n", "y ~ 0 + f + n",
                                           "y ~ 0 + f*n", "y ~ 0 + f:g + n", "y ~ f*(yr + I(yr^2))",
                                           "y ~ g + f*n*e", "y ~ 0 + n", "y ~ f:n + f"));

TEST(Standards, LeaveColumnsThatSpanNoConstantWhereTheyAre) {
  const Frame frame = far_table();
  const Design design = standardised("y ~ 0 + n", frame);
  ASSERT_EQ(design.terms[0].components[0].parts.size(), 1U);
  EXPECT_EQ(design.terms[0].components[0].parts[0].centre, 0);
}

TEST(Standards, LeaveAVariableThatOthersDetermineAlone) {
  Frame frame = far_table();
  Variable copy = frame.variables[1];
  copy.name = "m";
  for (double& value : copy.numbers.own()) value = 2 * value;
  frame.variables.push_back(copy);
  HostTeam team(2);
  const Standards standards =
      standards_of(testing::shared_world(), parse_terms("y ~ n + m"), frame, 32, team);
  EXPECT_TRUE(standards.back().orthogonal.empty());
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam

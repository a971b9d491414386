// SPDX-License-Identifier: Apache-2.0
// The tables of a summary equal those that R's summary.gam prints.
#include "gam/report/summary.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

using Numbers = std::vector<std::pair<double, double>>;

/// "estimate standard-error" of each row.
std::vector<std::string> shown(const Numbers& numbers) {
  FittedModel model;
  for (const auto& [estimate, error] : numbers)
    model.coefficient_tests.push_back({"x", estimate, error, estimate / error, 0.5});
  std::vector<std::string> rows;
  const TextTable table = coefficient_table(model);
  for (std::size_t i = 1; i < table.size(); ++i) rows.push_back(table[i][1] + " " + table[i][2]);
  return rows;
}

TEST(CoefficientTable, HasAsManyDecimalsAsTheLeastNumberNeeds) {
  // R 4.2, summary of a bam of the diamonds.
  EXPECT_EQ(shown({{7.688541594, 0.0098206577}, {0.0490476235, 0.009062}, {0.1443152608, 0.0106998}}),
            (std::vector<std::string>{"7.688542 0.009821", "0.049048 0.009062", "0.144315 0.010700"}));
  EXPECT_EQ(shown({{1.5, 0.5}, {-2.25, 0.25}}), (std::vector<std::string>{"1.50 0.50", "-2.25 0.25"}));
  EXPECT_EQ(shown({{0, 0.125}, {12345.678, 101.5}}),
            (std::vector<std::string>{"0.000 0.125", "12345.678 101.500"}));
}

TEST(CoefficientTable, LeavesNumbersAloneThatAreTooFarApart) {
  EXPECT_EQ(shown({{1.5e-9, 2.25e-12}, {2, 0.1}}), (std::vector<std::string>{"1.5e-09 2.25e-12", "2 0.1"}));
  EXPECT_EQ(shown({{1e300, 2}}), (std::vector<std::string>{"1e+300 2"}));
}

TEST(SmoothTable, HasNoNumbersOfATermThatIsNotTested) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  FittedModel model;
  model.smooth_tests.push_back({"s(g)", 3.25, none, none, none});
  EXPECT_EQ(smooth_table(model)[1], (std::vector<std::string>{"s(g)", "3.250", "NA", "NA", "NA", ""}));
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam

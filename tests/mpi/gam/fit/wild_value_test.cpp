// SPDX-License-Identifier: Apache-2.0
// One value of 1e6 or more among values of 0 to 1, against gam(method = "REML") of mgcv 1.8-41: what its QR
// of X can fit, and what no crossproduct can, which says why.
#include "support/fit_support.hpp"
#include "support/table_support.hpp"

#include <tessera/error.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::gam {
namespace {

constexpr std::int64_t wild_rows = 300;

struct Point {
  double x, z, y;
};

Point point(std::int64_t row) {
  const auto i = static_cast<double>(row);
  const double x = (static_cast<double>(row * 137 % wild_rows) + 0.5) / wild_rows;
  const double z = (static_cast<double>(row * 89 % wild_rows) + 0.5) / wild_rows;
  return {x, z, std::sin(6 * x) + z + 0.3 * std::sin(1.7 * i * i)};
}

FittedModel fitted(const std::string& formula, double wild) {
  Job job = testing::cpu_job(testing::world());
  const Plan plan = job.plan(wild_rows, 64);
  const Range mine = job.local_range(plan);
  std::vector<double> x;
  std::vector<double> z;
  std::vector<double> y;
  for (std::int64_t row = mine.begin; row < mine.end; ++row) {
    const Point here = point(row);
    x.push_back(row == 76 ? wild : here.x);
    z.push_back(here.z);
    y.push_back(here.y);
  }
  const Table table{plan, {{"y", y}, {"x", x}, {"z", z}}};
  return fit(job, parse_formula(formula), table).model.fitted();
}

TEST(WildValue, IsFittedAsMgcvFitsIt) {
  struct Case {
    const char* formula;
    double wild, edf, scale, reml;
  };
  constexpr const char* spline = "y ~ s(x, bs=\"ps\", k=20)";
  constexpr const char* by_number = "y ~ s(z, bs=\"ps\", k=10, by=x)";
  for (const Case& one : {Case{spline, 1e4, 2.997403169, 0.2882247055, 242.3217621},
                          Case{spline, 1e6, 2.997400208, 0.2882218653, 242.3203136},
                          Case{"y ~ s(x, bs=\"cr\", k=10)", 1e6, 8.275938991, 0.1278168829, 139.0847669},
                          Case{by_number, 1e4, 8.990235432, 0.3745145784, 300.3866391},
                          Case{by_number, 1e6, 8.990305372, 0.3745369946, 305.0010774}}) {
    SCOPED_TRACE(std::string(one.formula) + " with " + std::to_string(one.wild));
    const FittedModel model = fitted(one.formula, one.wild);
    EXPECT_TRUE(model.converged) << model.why_not_converged;
    EXPECT_NEAR(model.edf_total, one.edf, 1e-3);
    EXPECT_NEAR(model.scale, one.scale, 1e-5 * one.scale);
    if (testing::world().rank() == 0) {
      EXPECT_NEAR(model.reml, one.reml, 1e-3);
    }
  }
}

TEST(WildValue, ThatHidesTheSmoothingParametersIsNamed) {
  for (const char* formula : {"y ~ te(x, z, bs=\"ps\", k=6)", "y ~ s(x, bs=\"ps\", k=20)"}) {
    SCOPED_TRACE(formula);
    const bool product = std::string(formula).find("te") != std::string::npos;
    const FittedModel model = fitted(formula, product ? 1e6 : 1e8);
    EXPECT_FALSE(model.converged);
    const std::string& why = model.why_not_converged;
    EXPECT_TRUE(why.starts_with(product ? "te(x,z) has" : "s(x) has")) << why;
    EXPECT_NE(why.find("all but 1 of 300 rows have x from 0.00166667 to 0.998333, and the range of all is "),
              std::string::npos)
        << why;
  }
}

TEST(WildValue, ThatLeavesNoColumnsIsNamed) {
  try {
    static_cast<void>(fitted("y ~ te(x, z, bs=\"ps\", k=6)", 1e8));
    ADD_FAILURE() << "fitted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::input);
    const std::string said = error.what();
    EXPECT_NE(said.find("te(x,z)"), std::string::npos) << said;
    EXPECT_NE(said.find("all but 1 of 300 rows have x from"), std::string::npos) << said;
  }
}

// Columns of which nothing but rounding is left are none for a test, either.
TEST(WildValue, OfTheLargestSizesEndsInAModelOrAnError) {
  for (const char* formula :
       {"y ~ s(x, bs=\"ps\", k=20)", "y ~ s(x, bs=\"cp\", k=12)", "y ~ s(x, bs=\"cr\", k=10)",
        "y ~ te(x, z, bs=\"ps\", k=6)", "y ~ te(x, z, bs=\"cr\", k=5)", "y ~ s(z, bs=\"ps\", k=10, by=x)"}) {
    for (const double wild : {-1e9, 1e12, 1e100, 1e300}) {
      SCOPED_TRACE(std::string(formula) + " with " + std::to_string(wild));
      try {
        const FittedModel model = fitted(formula, wild);
        EXPECT_EQ(model.converged, model.why_not_converged.empty());
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::input) << error.what();
      }
    }
  }
}

}  // namespace
}  // namespace tessera::gam

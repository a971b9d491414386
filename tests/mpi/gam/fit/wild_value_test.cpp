// SPDX-License-Identifier: Apache-2.0
// Values of 1e4 and more among values of 0 to 1 agree with gam(method = "REML") of mgcv 1.8-41 where its QR
// of X can fit them; otherwise the error says why.
#include "support/design_support.hpp"
#include "support/fit_support.hpp"
#include "support/table_support.hpp"

#include <tessera/error.hpp>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
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

/// The model of a case of gam's (tests/data/wild_values/make_wild_values.R).
FittedModel fitted(const nlohmann::json& table, const nlohmann::json& one) {
  const auto rows = static_cast<std::int64_t>(table.at("y").size());
  Job job = testing::cpu_job(testing::world());
  const Plan plan = job.plan(rows, 64);
  const Range mine = job.local_range(plan);
  std::map<std::string, std::vector<double>> columns;
  for (const char* name : {"x", "z", "w", "y"}) columns[name] = table.at(name).get<std::vector<double>>();
  for (const std::size_t row : one.at("rows")) columns[one.at("column")][row] = one.at("value");
  for (auto& [name, values] : columns) values = {values.begin() + mine.begin, values.begin() + mine.end};
  Factor f{.codes = {}, .levels = {"p", "q"}};
  for (std::int64_t row = mine.begin; row < mine.end; ++row)
    f.codes.push_back(table.at("f").at(static_cast<std::size_t>(row)) == "q" ? 1 : 0);
  FitOptions options;
  options.weights = "w";
  const Table here{
      plan, {{"x", columns["x"]}, {"z", columns["z"]}, {"w", columns["w"]}, {"y", columns["y"]}, {"f", f}}};
  return fit(job, parse_formula(one.at("formula").get<std::string>()), here, options).model.fitted();
}

// No optimum is worse than gam's, whose QR has all digits of X. If it is the same, so is the model; gam's
// search ends at a higher one in nearly half of these cases.
TEST(WildValue, IsFittedAsMgcvFitsItOrBetter) {
  const nlohmann::json data = testing::test_data("wild_values/cases.json");
  int same = 0;
  for (const nlohmann::json& one : data.at("cases")) {
    SCOPED_TRACE(one.dump());
    const FittedModel model = fitted(data.at("table"), one);
    EXPECT_TRUE(model.converged) << model.why_not_converged;
    double difference = model.reml - one.at("reml").get<double>();
    testing::world().broadcast(std::span<double>(&difference, 1), 0);
    EXPECT_LT(difference, 1e-3);
    if (std::abs(difference) > 1e-3) continue;
    ++same;
    EXPECT_NEAR(model.edf_total, one.at("edf"), 5e-3);
    EXPECT_NEAR(model.scale / one.at("scale").get<double>(), 1, 1e-4);
  }
  EXPECT_GT(same, 25);
}

TEST(WildValue, ThatNothingCanFitIsNamed) {
  for (const char* basis : {"ps", "cr"}) {
    for (const double wild : {1e9, 1e10, 1e11, 1e12}) {
      SCOPED_TRACE(fmt::format("{} with {:g}", basis, wild));
      try {
        static_cast<void>(fitted(fmt::format("y ~ te(x, z, bs=\"{}\", k=6)", basis), wild));
        ADD_FAILURE() << "fitted";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::not_converged);
        const std::string said = error.what();
        EXPECT_NE(said.find("all except 1 of 300 rows have values of x from 0.00166667 to 0.998333, but the "
                            "full range is "),
                  std::string::npos)
            << said;
      }
    }
  }
}

// Columns that are only rounding are ignored by tests too.
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
        EXPECT_TRUE(error.code() == ErrorCode::input || error.code() == ErrorCode::not_converged)
            << error.what();
      }
    }
  }
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam

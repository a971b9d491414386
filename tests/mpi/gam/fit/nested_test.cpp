// SPDX-License-Identifier: Apache-2.0
// Models with nested smooths and with dependent columns agree with mgcv's answers in tests/data/nested, from
// file to prediction.
#include "support/fit_support.hpp"
#include "support/shared_world.hpp"
#include "support/table_support.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <tessera/tessera.hpp>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

using nlohmann::json;

const std::string folder = TESSERA_TEST_DATA "/nested/";

json cases() {
  std::ifstream file(folder + "cases.json");
  return json::parse(file);
}

FittedModel fitted(const mpi::Communicator& comm, const std::string& formula) {
  return testing::fitted(comm, formula, testing::in_blocks(folder + "data.csv", 64));
}

void expect_near(const std::vector<double>& mine, const json& expected, double tolerance, const char* what) {
  ASSERT_LE(mine.size(), 1000U);
  ASSERT_GE(mine.size(), expected.size()) << what;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double value = expected[i].get<double>();
    EXPECT_NEAR(mine[i], value, tolerance * std::max(1.0, std::abs(value))) << what << " " << i;
  }
}

TEST(NestedSmooths, HaveMgcvsColumnsTestsAndPredictions) {
  for (const json& expected : cases()) {
    const auto formula = expected["formula"].get<std::string>();
    SCOPED_TRACE(formula);
    const FittedModel model = fitted(testing::shared_world(), formula);
    EXPECT_TRUE(model.converged);
    Job job = testing::cpu_job(testing::shared_world());
    const auto predictions = testing::predicted_from_file(job, model, folder + "data.csv");
    if (testing::shared_world().rank() != 0) continue;
    EXPECT_EQ(model.coef.size(), expected["coefficients"].get<std::size_t>());
    EXPECT_NEAR(model.edf_total, expected["total_edf"].get<double>(), 1e-4);
    EXPECT_NEAR(model.scale / expected["scale"].get<double>(), 1, 1e-6);
    EXPECT_NEAR(model.deviance / expected["deviance"].get<double>(), 1, 1e-6);
    expect_near(predictions.fit, expected["fitted"], 1e-4, "fitted");
    expect_near(predictions.se, expected["se"], 1e-4, "standard error of a fitted value");
    if (!expected["terms"].get<bool>()) continue;
    std::vector<double> edf;
    std::vector<double> p_values;
    for (const SmoothTest& test : model.smooth_tests) {
      edf.push_back(test.edf);
      p_values.push_back(test.p_value);
    }
    ASSERT_EQ(edf.size(), expected["edf"].size());
    expect_near(edf, expected["edf"], 1e-4, "edf");
    for (std::size_t i = 0; i < edf.size(); ++i) {
      if (edf[i] < 1e-3) continue;  // the test of an empty term
      EXPECT_NEAR(p_values[i], expected["p"][i].get<double>(), 2e-4) << i;
    }
    std::vector<double> estimates;
    std::vector<double> errors;
    for (const CoefficientTest& test : model.coefficient_tests) {
      estimates.push_back(test.estimate);
      errors.push_back(test.standard_error);
    }
    ASSERT_EQ(estimates.size(), expected["estimates"].size());
    expect_near(estimates, expected["estimates"], 1e-4, "estimate");
    expect_near(errors, expected["standard_errors"], 1e-4, "standard error");
  }
}

TEST(NestedSmooths, SayWhatWasLeftOut) {
  EXPECT_EQ(fitted(testing::shared_world(), R"(y ~ f * h + s(x, bs="cr"))").design.left_out,
            std::vector<std::string>{"fC:hv"});
  EXPECT_EQ(fitted(testing::shared_world(), R"(y ~ z + s(x, by=z, bs="cr"))").design.left_out,
            std::vector<std::string>{"s(x):z"});
  EXPECT_TRUE(
      fitted(testing::shared_world(), R"(y ~ s(mon, bs="cp") + te(lat, mon))").design.left_out.empty());
}

// The rounding errors of sums of many equal numbers have one direction.
TEST(NestedSmooths, LeaveOutAColumnOfTwoValuesThatAnotherDetermines) {
  std::string text = "y,f\n";
  for (int i = 0; i < 20'000; ++i) text += std::to_string(i % 101) + ',' + "uvvv"[i % 4] + '\n';
  const testing::SharedFile table(testing::shared_world(), "two_values.csv", text);
  const std::string formula = R"(y ~ I(ifelse(f == "u", .3, -.7)) + I(ifelse(f == "u", .41, .17)))";
  EXPECT_EQ(testing::fitted(testing::shared_world(), formula, Table{table.path()}).design.left_out.size(),
            1U);
}

TEST(NestedSmooths, RefuseWhatCannotBeToldApartInDoublePrecision) {
  const std::string formula = "y ~ x + I(x + 1e-8 * z)";
  try {
    (void)fitted(testing::shared_world(), formula);
    FAIL() << "was fitted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::input);
    EXPECT_NE(std::string(error.what()).find("is almost a linear combination of"), std::string::npos)
        << error.what();
  }
}

TEST(NestedSmooths, HaveTheSameBitsOnOneRank) {
  const std::string formula = R"(y ~ s(mon, bs="cp") + te(lat, mon, bs=c("cr","cp")) + f * h)";
  const FittedModel together = fitted(testing::shared_world(), formula);
  const mpi::Communicator alone = testing::shared_world().split(testing::shared_world().rank());
  const FittedModel one = fitted(alone, formula);
  EXPECT_EQ(one.coef, together.coef);
  if (testing::shared_world().rank() == 0) {
    EXPECT_EQ(one.covariance, together.covariance);
  }
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam

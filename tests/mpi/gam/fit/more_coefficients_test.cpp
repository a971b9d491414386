// SPDX-License-Identifier: Apache-2.0
// Models with more coefficients than rows are determined by their penalties.
#include "support/fit_support.hpp"
#include "support/table_support.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

const std::string more_folder = TESSERA_TEST_DATA "/more_coefficients";

FitResult fit_more(Job& job, const std::string& formula, const FitOptions& options) {
  return fit(job, parse_formula(formula), testing::in_blocks(more_folder + "/data.csv", 4), options);
}

TEST(MoreCoefficients, AgreeWithRemlOfMgcvsMatrices) {
  std::ifstream file(more_folder + "/more_coefficients.json");
  Job job = testing::cpu_job(testing::world());
  for (const nlohmann::json& one : nlohmann::json::parse(file)) {
    SCOPED_TRACE(one.dump());
    FitOptions options{.family = family(one.at("family")), .weights = one.at("weights")};
    const FittedModel model = fit_more(job, one.at("formula"), options).model.fitted();
    EXPECT_TRUE(model.converged);
    EXPECT_EQ(model.design.coef_size, one.at("coefficients").get<int>());
    EXPECT_GT(model.design.coef_size, model.rows);
    const auto found = testing::predicted_from_file(job, model, more_folder + "/data.csv");
    if (job.comm().rank() != 0) continue;
    EXPECT_NEAR(model.edf_total / one.at("edf").get<double>(), 1, 1e-6);
    EXPECT_NEAR(model.scale / one.at("scale").get<double>(), 1, 1e-6);
    EXPECT_LE(testing::relative_to_range(found.fit, one.at("fit")), 1e-7);
    EXPECT_LE(testing::relative_to_range(found.se, one.at("se")), 1e-6);
  }
}

// The columns that gam.side() of mgcv 1.8-41 drops, from rows and penalties together.
TEST(MoreCoefficients, LoseTheColumnsOfNestedSmoothsThatTheirPenaltiesTellToo) {
  struct Nested {
    const char* formula;
    std::vector<int> dropped;  ///< of the last smooth, from 0 on
  };
  Job job = testing::cpu_job(testing::world());
  for (const auto& [formula, dropped] : {Nested{R"(y ~ s(x, k=8) + s(z, k=8) + te(x, z, k=6))", {29, 34}},
                                         Nested{R"(y ~ s(x, bs="ps", k=6) + te(x, z, bs="ps", k=6))", {34}},
                                         Nested{R"(y ~ s(x, k=5) + s(x, z, k=14))", {11}}}) {
    const FittedModel model = fit_more(job, formula, {}).model.fitted();
    EXPECT_GT(model.design.coef_size, model.rows) << formula;
    EXPECT_EQ(model.design.blocks.back().dropped, dropped) << formula;
  }
}

TEST(MoreCoefficients, AreRefusedWhereThoseWithoutAPenaltyAreNotFewerThanTheRows) {
  Job job = testing::cpu_job(testing::world());
  for (const char* formula : {"y ~ g + s(x, k=5)", "y ~ g + x + z"}) {
    const std::string message =
        testing::common_fault(job.comm(), [&] { static_cast<void>(fit_more(job, formula, {})); });
    EXPECT_NE(message.find("of them unpenalised, but the table has only 15 complete rows"), std::string::npos)
        << message;
  }
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam

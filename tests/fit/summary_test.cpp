// SPDX-License-Identifier: Apache-2.0
// The summary of a model as JSON. compare_anova.R compares its numbers with R's.
#include "info/run_program.hpp"
#include "temporary_folder.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace tessera {
namespace {

using SummaryJson = nlohmann::json;

class Summary : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  [[nodiscard]] ProgramResult fit(const std::string& formula, const std::string& more = {}) const {
    return run(TESSERA_FIT " fit " TESSERA_TEST_DATA "/predictions/table.csv --formula '" + formula +
               "' --device cpu --threads 1 --out " + path("model.json") + " " + more);
  }
  [[nodiscard]] SummaryJson json_of(const std::string& command) const {
    const auto result = successful(run(TESSERA_FIT " " + command + " " + path("model.json") + " --json"));
    return SummaryJson::parse(result.out);
  }
  [[nodiscard]] SummaryJson model() const {
    std::ifstream file(path("model.json"));
    return SummaryJson::parse(file);
  }

  TemporaryFolder folder_;
};

TEST_F(Summary, HasWhatItPrintsInFull) {
  ASSERT_EQ(fit("y ~ f + s(x) + s(g, bs=\"re\")").status, 0);
  const SummaryJson found = json_of("summary");
  const SummaryJson fitted = model();
  EXPECT_EQ(found.at("model"), path("model.json"));
  for (const char* const same :
       {"formula", "family", "link", "n", "rows_dropped", "scale", "deviance", "null_deviance",
        "r_squared_adjusted", "reml", "aic", "iterations", "converged"})
    EXPECT_EQ(found.at(same), fitted.at(same)) << same;
  EXPECT_EQ(found.at("edf"), fitted.at("edf_total"));
  EXPECT_EQ(found.at("coefficients"), fitted.at("parametric"));
  EXPECT_EQ(found.at("coefficient_statistic"), "t");
  EXPECT_EQ(found.at("statistic"), "F");
  EXPECT_EQ(found.at("left_out"), SummaryJson::array());
  EXPECT_EQ(found.at("deviance_explained").get<double>(),
            1 - fitted.at("deviance").get<double>() / fitted.at("null_deviance").get<double>());
  ASSERT_EQ(found.at("smooths").size(), 2U);
  const SummaryJson anova = json_of("anova").at("models").at(0);
  EXPECT_EQ(found.at("smooths"), anova.at("smooths"));
  for (const char* const same : {"edf1", "edf2", "residual_df", "log_likelihood", "log_likelihood_df", "AIC"})
    EXPECT_EQ(found.at(same), anova.at(same)) << same;
  EXPECT_FALSE(found.contains("parameters"));

  const auto printed = run(TESSERA_FIT " summary " + path("model.json"));
  char number[32];
  std::snprintf(number, sizeof number, "%.3f", found.at("smooths").at(0).at("edf").get<double>());
  EXPECT_NE(printed.out.find("s(x)"), std::string::npos);
  EXPECT_NE(printed.out.find(number), std::string::npos) << printed.out;
}

TEST_F(Summary, HasNullForWhatIsNotKnown) {
  ASSERT_EQ(fit("y ~ s(x) + s(g, bs=\"re\") + s(f, bs=\"re\")", "--largest-tested-effect 1").status, 0);
  const SummaryJson found = json_of("summary");
  const SummaryJson& effect = found.at("smooths").at(1);
  EXPECT_TRUE(effect.at("statistic").is_null());
  EXPECT_TRUE(effect.at("p_value").is_null());
  EXPECT_TRUE(effect.at("edf").is_number());
  EXPECT_TRUE(found.at("edf2").is_null());
  ASSERT_EQ(fit("count ~ s(x)", "--family quasipoisson").status, 0);
  EXPECT_TRUE(json_of("summary").at("AIC").is_null());
}

TEST_F(Summary, HasTheParametersOfTheFamilyAndWhyThereIsNoEstimate) {
  ASSERT_EQ(fit("count ~ s(x) + z + I(2*z)", "--family nb").status, 0);
  const SummaryJson found = json_of("summary");
  EXPECT_EQ(found.at("parameters").at("theta"), model().at("family_parameters").at(0).at("value"));
  EXPECT_EQ(found.at("coefficient_statistic"), "z");
  EXPECT_EQ(found.at("statistic"), "Chi.sq");
  EXPECT_EQ(found.at("left_out").size(), 1U);
  EXPECT_EQ(fit("count ~ s(x)", "--family nb --max-iterations 1").status, 4);
  const SummaryJson cut_short = json_of("summary");
  EXPECT_EQ(cut_short.at("converged"), false);
  EXPECT_EQ(cut_short.at("not_converged"), model().at("not_converged"));
}

TEST_F(Summary, OfAFitIsThatOfItsModel) {
  const auto fitted = successful(fit("y ~ f + s(x)", "--json"));
  SummaryJson printed = SummaryJson::parse(fitted.out);
  EXPECT_TRUE(printed.at("model").is_null());
  printed["model"] = path("model.json");
  EXPECT_EQ(printed, json_of("summary"));
}

}  // namespace
}  // namespace tessera

// SPDX-License-Identifier: Apache-2.0
// Tests of terms and comparisons of models against anova.gam: tests/data/anova/make_anova.R.
#include "info/run_program.hpp"
#include "temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tessera {
namespace {

using AnovaJson = nlohmann::json;

AnovaJson anova_json_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return AnovaJson::parse(file);
}

constexpr const char* table_of_pairs = TESSERA_TEST_DATA "/predictions/table.csv";

class Anova : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void fit(const std::string& name, const std::string& formula, const std::string& more = {},
           int ranks = 1) const {
    const std::string launcher = ranks > 1 ? TESSERA_MPIRUN + (" " + std::to_string(ranks)) : "";
    successful(run(launcher + " " TESSERA_FIT " fit " + table_of_pairs + " --formula '" + formula +
                   "' --device cpu --threads 1 --block-rows 64 --out " + path(name) + " " + more));
  }
  [[nodiscard]] ProgramResult anova(const std::string& args) const {
    return run("cd " + folder_.path().string() + " && " TESSERA_FIT " anova " + args);
  }

  TemporaryFolder folder_;
};

void expect_number(const AnovaJson& found, const AnovaJson& expected, double tolerance,
                   const std::string& what) {
  ASSERT_EQ(found.is_number(), expected.is_number()) << what << ": " << found << ", " << expected;
  if (found.is_number()) {
    EXPECT_NEAR(found.get<double>(), expected.get<double>(), tolerance) << what;
  }
}

class AnovaOfPairs : public Anova, public ::testing::WithParamInterface<int> {};

TEST_P(AnovaOfPairs, IsThatOfAnovaGam) {
  const AnovaJson expected = anova_json_of(TESSERA_TEST_DATA "/anova/cases.json").at(GetParam());
  const std::string family = " --family " + expected.at("family").get<std::string>();
  fit("1.json", expected.at("models")[0].at("formula"), family);
  fit("2.json", expected.at("models")[1].at("formula"), family);
  // The optimum of bam() has bam's tolerance.
  constexpr double close = 2e-4;
  for (const std::string test : {"F", "Chisq"}) {
    const auto result = successful(anova("1.json 2.json --json --test " + test));
    const AnovaJson found = AnovaJson::parse(result.out);
    for (std::size_t i = 0; i < 2; ++i) {
      const AnovaJson& model = expected.at("models")[i];
      const AnovaJson& own = found.at("models")[i];
      for (const std::string name : {"edf1", "edf2", "log_likelihood", "log_likelihood_df", "AIC", "aic"})
        expect_number(own.at(name), model.at(name), 5 * close, name);
      const AnovaJson& terms = model.at("terms");
      ASSERT_EQ(own.at("parametric").size(), terms.size());
      for (std::size_t t = 0; t < own.at("parametric").size(); ++t) {
        const AnovaJson& term = own.at("parametric")[t];
        EXPECT_EQ(term.at("term"), terms[t]);
        const AnovaJson& row = model.at("parametric")[t];
        expect_number(term.at("df"), row[0], 0, "df");
        expect_number(term.at("statistic"), row[1], close * std::max(1.0, row[1].get<double>()), "statistic");
        expect_number(term.at("p_value"), row[2], close, "p-value");
      }
    }
    const AnovaJson& columns = expected.at(test);
    std::vector<std::string> names{"residual_df", "residual_deviance", "df", "deviance"};
    if (columns.size() == 6) names.emplace_back("F");
    names.emplace_back("p_value");
    for (std::size_t c = 0; c < names.size(); ++c) {
      for (std::size_t i = 0; i < 2; ++i) {
        const std::string what = test + ", " + names[c];
        const double size = columns[c][i].is_number() ? std::abs(columns[c][i].get<double>()) : 0;
        expect_number(found.at("deviances")[i].at(names[c]), columns[c][i], 5 * close * std::max(1.0, size),
                      what);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Fit, AnovaOfPairs, ::testing::Range(0, 4));

TEST_F(Anova, PrintsTheTermsOfOneModelAndTheTableOfSeveral) {
  fit("1.json", "y ~ f + s(x)");
  fit("2.json", "y ~ f + z + s(x)");
  const auto one = successful(anova("1.json"));
  for (const char* const text :
       {"Parametric Terms:", "\nf  2", "Approximate significance of smooth terms:", "logLik", "m$aic"})
    EXPECT_NE(one.out.find(text), std::string::npos) << text << one.out;
  const auto two = successful(anova("1.json 2.json"));
  for (const char* const text :
       {"Analysis of Deviance Table", "Model 2: y ~ f + z + s(x) (2.json)", "Resid. Df", "Pr(>F)"})
    EXPECT_NE(two.out.find(text), std::string::npos) << text << two.out;
  EXPECT_EQ(anova("1.json 2.json --test none").out.find("Pr("), std::string::npos);
}

TEST_F(Anova, KnowsTheRowsOfAModelAtAnyScale) {
  fit("1.json", "y ~ s(x)");
  fit("2.json", "y ~ s(x)", {}, 3);
  const AnovaJson one = anova_json_of(path("1.json"));
  EXPECT_EQ(one.at("response_fingerprint"), anova_json_of(path("2.json")).at("response_fingerprint"));
  EXPECT_EQ(one.at("response_fingerprint").get<std::string>().size(), 16U);
  EXPECT_EQ(anova("1.json 2.json").status, 0);
}

TEST_F(Anova, RefusesModelsOfOtherRows) {
  const auto expect_refusal = [&](const std::string& models, const std::string& words) {
    const auto result = anova(models);
    EXPECT_EQ(result.status, 3) << result.err;
    EXPECT_NE(result.err.find(words), std::string::npos) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_EQ(result.out, "");
  };
  fit("1.json", "y ~ s(x)");
  fit("fewer.json", "y ~ s(x)", "--subset 'x > 0.1'");
  expect_refusal("1.json fewer.json", "complete rows");
  fit("other.json", "log(y + 3) ~ s(x)");
  expect_refusal("1.json other.json", "the values or rows of the response differ from the response of");
  AnovaJson earlier = anova_json_of(path("1.json"));
  earlier.erase("response_fingerprint");
  std::ofstream(path("earlier.json")) << earlier.dump();
  expect_refusal("1.json earlier.json", "an earlier version of tessera-fit wrote it");
  EXPECT_EQ(anova("earlier.json").status, 0);
  earlier["version"] = 99;
  std::ofstream(path("newer.json")) << earlier.dump();
  expect_refusal("newer.json", "newer tessera-fit");
}

}  // namespace
}  // namespace tessera

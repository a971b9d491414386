// SPDX-License-Identifier: Apache-2.0
// Predictions of rows whose offset is infinite: a rate without exposure.
#include "support/fit_support.hpp"
#include "support/table_support.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
const std::string offset_data = TESSERA_TEST_DATA "/null_deviances/data.csv";

Model model_of(Job& job, const std::string& chosen, const std::string& formula) {
  FitOptions options{.family = family(chosen)};
  return fit(job, parse_formula(formula), testing::in_blocks(offset_data, 16), options).model;
}

/// A table of the offsets 0, minus infinity and infinity on every rank.
Table offsets(const Job& job) {
  Table table{job.plan(3, 1), {}};
  const std::vector<double> all{0, -infinity, infinity};
  const Range mine = job.local_range(table.plan);
  table.columns = {{"o", std::vector<double>(all.begin() + mine.begin, all.begin() + mine.end)}};
  return table;
}

/// A column of all ranks.
std::vector<double> all_of(const Job& job, const Predictions& predictions, const std::string& name) {
  return job.comm().allgatherv(predictions[name]);
}

// R's answers, except that mgcv's means of the Gamma family are at least 2.2e-16.
TEST(InfiniteOffset, HasTheLimitOfTheMean) {
  struct Limits {
    const char* response;
    const char* family;
    double low, high;        ///< means
    double low_se, high_se;  ///< in standard errors of the predictor
  };
  Job job = testing::cpu_job(testing::world());
  const std::vector<Limits> all = {
      {"y", "gaussian", -infinity, infinity, 1, 1},
      {"y", "gaussian(log)", 0, infinity, 0, infinity},
      {"y", "gaussian(inverse)", 0, 0, 0, 0},
      {"bin", "binomial", 0, 1, 0, 0},
      {"bin", "binomial(probit)", 0, 1, 0, 0},
      {"bin", "binomial(cloglog)", 0, 1, 0, 0},
      {"bin", "binomial(cauchit)", 0, 1, 0, 0},
      {"bin", "binomial(log)", 0, infinity, 0, infinity},
      {"share", "quasibinomial", 0, 1, 0, 0},
      {"count", "poisson", 0, infinity, 0, infinity},
      {"count", "poisson(identity)", -infinity, infinity, 1, 1},
      {"count", "poisson(sqrt)", infinity, infinity, infinity, infinity},
      {"count", "nb(theta = 3)", 0, infinity, 0, infinity},
      {"y", "Gamma(log)", 0, infinity, 0, infinity},
      {"y", "Gamma(inverse)", 0, 0, 0, 0},
      {"y", "inverse.gaussian", nan, 0, nan, 0},
      {"count", "Tweedie(p = 1.5)", 0, infinity, 0, infinity},
      {"y", "scat(theta = c(5, 0.25))", -infinity, infinity, 1, 1},
      {"share", "betar(theta = 9)", 0, 1, 0, 0},
      {"y", "@" TESSERA_TEST_DATA "/reference/m16_inverse_gaussian/inverse_gaussian.toml", 0, infinity, 0,
       infinity}};
  for (const Limits& one : all) {
    SCOPED_TRACE(one.family);
    const Model model = model_of(job, one.family, std::string(one.response) + " ~ 1 + offset(o)");
    PredictOptions options{.standard_errors = true};
    const Predictions link = predict(job, model, offsets(job), options);
    const auto fit = all_of(job, link, "fit");
    const auto se = all_of(job, link, "se");
    EXPECT_TRUE(std::isfinite(fit[0]) && se[0] > 0);
    EXPECT_EQ(fit[1], -infinity);
    EXPECT_EQ(fit[2], infinity);
    EXPECT_EQ(se, std::vector<double>(3, se[0]));
    const auto expect = [](double found, double expected) {
      if (std::isnan(expected))
        EXPECT_TRUE(std::isnan(found)) << found;
      else if (std::isinf(expected))
        EXPECT_EQ(found, expected);
      else
        EXPECT_NEAR(found, expected, 1e-15);
    };
    for (const bool errors : {false, true}) {
      options.type = PredictionType::response;
      options.standard_errors = errors;
      const Predictions response = predict(job, model, offsets(job), options);
      const auto means = all_of(job, response, "fit");
      expect(means[1], one.low);
      expect(means[2], one.high);
      if (!errors) continue;
      const auto of_means = all_of(job, response, "se");
      expect(of_means[1] / se[0], one.low_se);
      expect(of_means[2] / se[0], one.high_se);
    }
    options.interval = 0.95;
    const Predictions band = predict(job, model, offsets(job), options);
    for (const char* end : {"lower", "upper"}) {
      const auto ends = all_of(job, band, end);
      expect(ends[1], one.low);
      expect(ends[2], one.high);
    }
  }
}

TEST(InfiniteOffset, LeavesTermsAndTheModelMatrixAsTheyAre) {
  Job job = testing::cpu_job(testing::world());
  const Model model = model_of(job, "poisson", "count ~ x + offset(log(e))");
  const testing::SharedFile file(job.comm(), "new.csv", "x,e\n0.5,1\n0.5,0\n");
  PredictOptions options;
  const auto fit = all_of(job, predict(job, model, testing::in_blocks(file.path(), 1), options), "fit");
  EXPECT_TRUE(std::isfinite(fit[0]));
  EXPECT_EQ(fit[1], -infinity);
  for (const PredictionType type :
       {PredictionType::terms, PredictionType::iterms, PredictionType::lpmatrix}) {
    options.type = type;
    const auto x = all_of(job, predict(job, model, testing::in_blocks(file.path(), 1), options), "x");
    EXPECT_TRUE(std::isfinite(x[0]));
    EXPECT_EQ(x[0], x[1]);
  }
}

// A new response is at the limit of its mean; for an infinite rate there is no count.
TEST(InfiniteOffset, HasResponsesAtTheLimit) {
  Job job = testing::cpu_job(testing::world());
  for (const char* chosen :
       {"poisson", "nb(theta = 3)", "Tweedie(p = 1.5)", "Gamma(log)", "inverse.gaussian(log)"}) {
    SCOPED_TRACE(chosen);
    const bool positive = std::string(chosen).find("log") != std::string::npos;
    const Model model = model_of(job, chosen, std::string(positive ? "y" : "count") + " ~ 1 + offset(o)");
    PredictOptions options{.type = PredictionType::response, .prediction_interval = 0.9};
    const Predictions interval = predict(job, model, offsets(job), options);
    for (const char* end : {"prediction.lower", "prediction.upper"}) {
      const auto ends = all_of(job, interval, end);
      EXPECT_NEAR(ends[1], 0, 1e-15) << end;
      EXPECT_EQ(ends[2], infinity) << end;
    }
    SimulateOptions simulated{.draws = 2};
    const bool count = std::string(chosen) == "poisson" || std::string(chosen).starts_with("nb");
    static_cast<void>(simulate_responses(
        job, model, offsets(job),
        [&](const Predictions& part) {
          for (const char* draw : {"draw.1", "draw.2"}) {
            const auto drawn = all_of(job, part, draw);
            EXPECT_NEAR(drawn[1], 0, 1e-15);
            if (count)
              EXPECT_TRUE(std::isnan(drawn[2]));
            else
              EXPECT_EQ(drawn[2], infinity);
          }
        },
        simulated));
  }
}

// A term has no value there.
TEST(InfiniteOffset, IsNoTermOfTheModel) {
  Job job = testing::cpu_job(testing::world());
  const testing::SharedFile file(job.comm(), "new.csv", "x,e\n0.5,1\n0.5,0\n");
  for (const char* formula : {"count ~ log(e)", "count ~ s(log(e), k=4) + offset(log(e))"}) {
    const Model model = model_of(job, "poisson", formula);
    const auto means = all_of(job, predict(job, model, testing::in_blocks(file.path(), 1)), "fit");
    EXPECT_TRUE(std::isfinite(means[0])) << formula;
    EXPECT_TRUE(std::isnan(means[1])) << formula;
  }
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam

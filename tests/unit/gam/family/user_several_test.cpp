// SPDX-License-Identifier: Apache-2.0
// Users' families of several linear predictors: derivatives, what a file must have, and what is refused.
#include "gam/family/user_several.hpp"

#include "gam/family/family.hpp"
#include "support/errors.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

std::shared_ptr<const SeveralFamily> own(const std::string& toml) {
  return parse_own_several(toml, "f.toml");
}

/// The log likelihood of a row, its scores and curvatures.
std::vector<double> row_of(const SeveralFamily& family, double y, const std::vector<double>& eta) {
  const auto p = eta.size();
  std::vector<double> out(1 + p + p * (p + 1) / 2);
  const double prior = 1;
  family.evaluate({.count = 1,
                   .stride = 1,
                   .response = &y,
                   .prior = &prior,
                   .eta = eta.data(),
                   .log_likelihood = out.data(),
                   .gradient = out.data() + 1,
                   .weights = out.data() + 1 + p});
  return out;
}

constexpr char normal_toml[] =
    "name = 'normal'\npredictors = 2\n"
    "log_likelihood = '-((y - eta1) / (exp(eta2) + 0.01))^2 / 2 - log(exp(eta2) + 0.01) - "
    "0.91893853320467274'\n"
    "start = ['mean', 'log(deviation)']\nresponse = ['eta1', '1 / (exp(eta2) + 0.01)']\n"
    "mean = 'eta1'\ndeviation = 'exp(eta2) + 0.01'\ncumulative = 'pnorm((y - eta1) / (exp(eta2) + 0.01))'\n";

TEST(OwnSeveral, OfTheNormalLogLikelihoodIsGaulss) {
  const auto family = own(normal_toml);
  const Family built_in = chosen_family("gaulss");
  std::mt19937_64 random(1);
  std::normal_distribution<double> draw;
  for (int i = 0; i < 200; ++i) {
    const double y = 2 * draw(random);
    const std::vector<double> eta{draw(random), draw(random)};
    const std::vector<double> found = row_of(*family, y, eta);
    const std::vector<double> wanted = row_of(*built_in.several(), y, eta);
    for (std::size_t k = 0; k < wanted.size(); ++k)
      EXPECT_NEAR(found[k], wanted[k], 1e-13 * (1 + std::abs(wanted[k]))) << k;
    EXPECT_NEAR(family->probabilities(y, eta).up_to, built_in.several()->probabilities(y, eta).up_to, 1e-15);
    EXPECT_DOUBLE_EQ(family->level(eta).deviation, built_in.several()->level(eta).deviation);
  }
  EXPECT_EQ(family->first_predictors({2, 3}), (std::vector<double>{2, std::log(3)}));
}

/// Central differences of values, and of first derivatives for the second ones.
TEST(OwnSeveral, DifferentiatesEveryFunction) {
  for (const char* function :
       {"eta1 * eta2 + eta1", "-eta1 / eta2", "eta1^3 + eta2^-1.5", "eta1^eta2", "2^eta1", "log(eta1) * eta2",
        "sqrt(eta1 * eta2)", "exp(eta1 - eta2)", "log1p(eta1 * eta2)", "expm1(eta1) * eta2",
        "abs(eta1 - 9) * eta2", "pnorm(eta1 - eta2)", "dnorm(eta1 * eta2)",
        "pmin(eta1^2, 9) + pmax(eta2^2, y)", "log2(eta1) * log10(eta2)", "sin(eta1) * cos(eta2)",
        "tan(eta1 / 2) * floor(eta2) + ceiling(eta1) + trunc(eta2)", "eta2^2 - y / eta1"}) {
    SCOPED_TRACE(function);
    const auto family = own(fmt::format("name = 'f'\npredictors = 2\nlog_likelihood = '{}'\n", function));
    const std::vector<double> at{0.83, 1.37};
    const std::vector<double> found = row_of(*family, 0.6, at);
    constexpr double step = 1e-5;
    for (std::size_t p = 0; p < 2; ++p) {
      std::vector<double> up = at;
      std::vector<double> down = at;
      up[p] += step;
      down[p] -= step;
      const std::vector<double> above = row_of(*family, 0.6, up);
      const std::vector<double> below = row_of(*family, 0.6, down);
      EXPECT_NEAR(found[1 + p], (above[0] - below[0]) / (2 * step), 1e-8);
      for (std::size_t q = 0; q < 2; ++q)
        EXPECT_NEAR(-found[3 + p + q], (above[1 + q] - below[1 + q]) / (2 * step), 1e-8);
    }
  }
}

TEST(OwnSeveral, TellsWhatIsWrongWithAFile) {
  const std::string begin = "name = 'f'\npredictors = 2\n";
  const std::string likelihood = "log_likelihood = '-(y - eta1)^2 * exp(eta2)'\n";
  for (const auto& [toml, message] : std::vector<std::pair<std::string, std::string>>{
           {begin,
            "f.toml: log_likelihood is missing: write log_likelihood = \"…\", an expression of y, eta1 and "
            "eta2"},
           {"predictors = 2\n" + likelihood, "f.toml: the family has no name: write name = \"…\""},
           {"name = 'f'\npredictors = 5\n" + likelihood,
            "f.toml:2: predictors must be a whole number from 1 to 4"},
           {"name = 'f'\npredictors = '2'\n" + likelihood,
            "f.toml:2: predictors must be a whole number from 1 to 4"},
           {begin + "log_likelihood = '-(y - eta3)^2'\n",
            "f.toml:3: log_likelihood: 'eta3' is not a variable of this expression: it may use y, eta1 and "
            "eta2"},
           {begin + likelihood + "start = ['mean']\n",
            "f.toml:4: start must be a list of 2 texts, one for each linear predictor"},
           {begin + likelihood + "start = ['mean', 'y']\n",
            "f.toml:4: start: 'y' is not a variable of this expression: it may use mean and deviation"},
           {begin + likelihood + "variance = 'mu'\n",
            "f.toml:4: 'variance' is not a key of a family: the keys are name, predictors, log_likelihood, "
            "start, "
            "response, mean, deviation, cumulative, quantile, support"},
           {begin + likelihood + "support = 'mean > 0'\n",
            "f.toml:4: support: 'mean' is not a variable of this expression: it may use y"},
           {begin + likelihood + "start = ['mean > 0', '0']\n",
            "f.toml:4: start: as.numeric(mean > 0): functions of a family cannot have logical values, "
            "rounding "
            "to digits or sign()"}})
    expect_error(ErrorCode::usage, message, [&] { static_cast<void>(own(toml)); });
  const auto family = own(begin + likelihood);
  expect_error(
      ErrorCode::usage,
      "the file of the family f has no quantile, but draws and prediction intervals need a quantile function",
      [&] {
        static_cast<void>(family->quantile(0.5, std::vector<double>{0, 0}));
      });
  EXPECT_FALSE(family->has_level());
}

TEST(OwnSeveral, TellsWhatAResponseOutsideOfTheSupportLacks) {
  const std::string begin = "name = 'f'\npredictors = 1\nlog_likelihood = 'y * eta1 - exp(eta1)'\n";
  EXPECT_EQ(own(begin)->response_fault(-1.5), nullptr);
  const auto family = own(begin + "support = 'y >= 0 & y == floor(y)'\n");
  EXPECT_EQ(family->response_fault(0), nullptr);
  EXPECT_EQ(family->response_fault(7), nullptr);
  EXPECT_STREQ(family->response_fault(-1), "must have y >= 0 & y == floor(y)");
  EXPECT_STREQ(family->response_fault(0.5), "must have y >= 0 & y == floor(y)");
  // A number that the condition has no value for is none.
  EXPECT_NE(own(begin + "support = 'log(y) < 2'\n")->response_fault(-1), nullptr);
}

TEST(OwnSeveral, IsKeptAsItsText) {
  const Family family = own_family(normal_toml, "f.toml");
  EXPECT_EQ(family.toml(), normal_toml);
  EXPECT_EQ(family.predictor_count(), 2);
  EXPECT_EQ(family.name(), "normal");
  EXPECT_EQ(chosen_family("poisson").toml(), "");
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam

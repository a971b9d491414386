// SPDX-License-Identifier: Apache-2.0
// Quantiles of families mixed over a normal predictor agree with R's pgamma, pnbinom, … by integrate and
// uniroot.
#include "gam/family/response_distribution.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <ostream>
#include <string>
#include <tessera/error.hpp>
#include <utility>
#include <vector>

namespace {

using namespace tessera::gam;

struct MixtureCase {
  const char* family;
  double scale;
  double p, predictor, error;
  double expected;
  friend std::ostream& operator<<(std::ostream& out, const MixtureCase& one) { return out << one.family; }
};

class ResponseQuantile : public ::testing::TestWithParam<MixtureCase> {};

TEST_P(ResponseQuantile, IsRs) {
  const MixtureCase& one = GetParam();
  const ResponseDistribution response(chosen_family(one.family), one.scale);
  EXPECT_NEAR(response.quantile(one.p, one.predictor, one.error), one.expected, 1e-8 * one.expected);
}

INSTANTIATE_TEST_SUITE_P(
    Families, ResponseQuantile,
    ::testing::Values(
        MixtureCase{"gaussian", 0.3, 0.975, 2, 0.7, 2 + 1.959963984540054 * std::sqrt(0.79)},
        MixtureCase{"gaussian(log)", 0.3, 0.975, 0.4, 0.2, 2.7748258329474},
        MixtureCase{"Gamma(log)", 0.5, 0.025, 1, 0.3, 0.3043708711331},
        MixtureCase{"Gamma(log)", 0.5, 0.975, 1, 0.3, 8.7832867594386},
        MixtureCase{"inverse.gaussian(log)", 0.4, 0.975, 0.5, 0.25, 5.9485835525228},
        MixtureCase{"inverse.gaussian(log)", 0.4, 0.025, 0.5, 0.25, 0.3270515152546},
        MixtureCase{"scat(theta=c(4,0.7))", 1, 0.975, 2, 0.9, 4.5988576660780},
        MixtureCase{"betar(theta=5)", 1, 0.025, 0.7, 0.6, 0.1742794744919},
        MixtureCase{"Tweedie(p=1.5)", 0.8, 0.975, 0.6, 0.3, 5.9089809042884},
        MixtureCase{"Tweedie(p=1.5)", 0.8, 0.3, 0.6, 0.3, 0.8837585588013},
        MixtureCase{"Tweedie(p=1.5)", 0.8, 0.03, 0.6, 0.3, 0},  // 0.0373 of the responses are 0
        MixtureCase{"poisson", 1, 0.975, 2, 0.5, 22}, MixtureCase{"poisson", 1, 0.025, 2, 0.5, 1},
        MixtureCase{"poisson", 1, 0.975, 6, 0.01, 444}, MixtureCase{"nb(theta=2)", 1, 0.975, 1, 0.3, 10},
        MixtureCase{"ocat(theta=c(1.5,2))", 1, 0.3, 1, 0.5, 2}, MixtureCase{"binomial", 1, 0.5, 0.1, 0.3, 1},
        MixtureCase{"binomial", 1, 0.4, 0.1, 0.3, 0}));

// If the error far exceeds the spread of the responses, these give the predictor's own quantile.
TEST(ResponseDistribution, OfAnExactResponseIsThatOfTheMean) {
  const ResponseDistribution response(chosen_family("Gamma(log)"), 1e-6);
  EXPECT_NEAR(response.quantile(0.975, 1, 0.5), std::exp(1 + 1.959963984540054 * 0.5), 2e-5);
  EXPECT_NEAR(response.quantile(0.025, 1, 0), std::exp(1.0) * (1 - 1.96e-3), 1e-5);
}

TEST(ResponseDistribution, HasTheTailsOfALargeInverseGaussianShape) {
  const ResponseDistribution response(chosen_family("inverse.gaussian(log)"), 1e-5);
  EXPECT_NEAR(response.cumulative(1, 1), 0.5 + 0.5 * std::sqrt(1e-5 / (2 * M_PI)), 1e-8);
  EXPECT_EQ(response.cumulative(1e-3, 1), 0);
}

// pnorm(1.5, 1, sqrt(.3 / 2)), pgamma(1.2, 2 / .5, scale = 1.1 * .5 / 2), pbinom(2:3, 5, .4),
// ppois(1:2, 2.5), pnbinom(1:2, size = 2, mu = 2.5)
TEST(ResponseDistribution, HasTheProbabilitiesOfWeightedResponses) {
  const auto expect = [](const char* family, double scale, double y, double mean, double weight, double below,
                         double up_to) {
    const auto found = ResponseDistribution(chosen_family(family), scale).probabilities(y, mean, weight);
    EXPECT_NEAR(found.below, below, 1e-12) << family;
    EXPECT_NEAR(found.up_to, up_to, 1e-12) << family;
  };
  expect("gaussian", 0.3, 1.5, 1, 2, 0.901647198770527, 0.901647198770527);
  expect("Gamma(log)", 0.5, 1.2, 1.1, 2, 0.634177254959141, 0.634177254959141);
  expect("binomial", 1, 0.6, 0.4, 5, 0.68256, 0.91296);
  expect("binomial", 1, 1, 0.4, 5, 0.98976, 1);
  expect("poisson", 1, 2, 2.5, 1, 0.287297495183646, 0.543813115883330);
  expect("nb(theta=2)", 1, 2, 2.5, 1, 0.417009602194787, 0.599908550525834);
  expect("ocat(theta=c(1.5,2))", 1, 2, 1, 1, 0.1192029220221175, 0.3775406687981454);
  expect("ocat(theta=c(1.5,2))", 1, 4, 1, 1, 0.8175744761936437, 1);
  expect("ziP(theta=c(-0.4,0.3),b=0.2)", 1, 2, 0.9, 1, 0.28139688725303841, 0.54517104048955667);
  expect("ziP(theta=c(-0.4,0.3),b=0.2)", 1, 0, 0.9, 1, 0, 0.06691175179356679);
  expect("Tweedie(p=1.5)", 0.8, 0, 1.2, 1, 0, std::exp(-std::sqrt(1.2) / 0.4));
  for (const auto& [family, weight] :
       {std::pair{"poisson", 2.0}, {"scat(theta=c(4,0.7))", 0.5}, {"binomial", 1.5}, {"gaussian", 0.0}})
    EXPECT_TRUE(
        std::isnan(ResponseDistribution(chosen_family(family), 1).probabilities(1, 0.5, weight).up_to))
        << family;
  EXPECT_DOUBLE_EQ(ResponseDistribution(chosen_family("poisson"), 1).probability_of_zero(2.5),
                   std::exp(-2.5));
  const ResponseDistribution zip(chosen_family("ziP(theta=c(-0.4,0.3),b=0.2)"), 1);
  EXPECT_NEAR(zip.probability_of_zero(0.9), 0.06691175179356679, 1e-15);
  // Of one predictor, and of an uncertain one.
  EXPECT_EQ(zip.quantile(0.06, 0.9, 0), 0);
  EXPECT_EQ(zip.quantile(0.5, 0.9, 0), 2);
  EXPECT_EQ(zip.quantile(0.975, 0.9, 1e-4), zip.quantile(0.975, 0.9, 0));
  EXPECT_TRUE(std::isnan(ResponseDistribution(chosen_family("gaussian"), 1).probability_of_zero(2.5)));
}

// pnorm(c(1, 2), 1.2, .5 / sqrt(2)), plogis(c(1, 2), 1.2, .5), ppois(c(1, 4), 2.5)
TEST(ResponseDistribution, OfACensoredResponseIsThatOfItsLimits) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto expect = [](const char* family, Response y, double mean, double weight, double below,
                         double up_to) {
    const auto found = ResponseDistribution(chosen_family(family), 1).probabilities(y, mean, weight);
    EXPECT_NEAR(found.below, below, 1e-12) << family;
    EXPECT_NEAR(found.up_to, up_to, 1e-12) << family;
  };
  expect("cnorm(theta=0.5)", {1, 2}, 1.2, 2, 0.28580382247666580, 0.98817419167232201);
  expect("cnorm(theta=0.5)", {2, -infinity}, 1.2, 2, 0, 0.98817419167232201);
  expect("cnorm(theta=0.5)", {1, 1}, 1.2, 2, 0.28580382247666580, 0.28580382247666580);
  expect("clog(theta=0.5)", {1, infinity}, 1.2, 1, 0.40131233988754800, 1);
  expect("clog(theta=0.5)", {2, 1}, 1.2, 1, 0.40131233988754800, 0.83201838513392445);
  expect("cpois", {1.5, 4.5}, 2.5, 1, 0.28729749518364578, 0.89117801891415127);
  expect("cpois", {-0.5, 4.5}, 2.5, 1, 0, 0.89117801891415127);
}

TEST(ResponseDistribution, IsNotThatOfAMissingRow) {
  const ResponseDistribution response(chosen_family("poisson"), 1);
  EXPECT_TRUE(std::isnan(response.quantile(0.5, std::numeric_limits<double>::quiet_NaN(), 1)));
}

TEST(ResponseDistribution, IsUnknownOfAQuasiFamily) {
  for (const std::string family : {"quasipoisson", "quasi(log, mu^2)"})
    EXPECT_THROW(ResponseDistribution(chosen_family(family), 1), tessera::Error) << family;
}

struct DrawnCase {
  const char* family;
  double scale;
  double mean;
  double weight;
  friend std::ostream& operator<<(std::ostream& out, const DrawnCase& one) { return out << one.family; }
};

class ResponseDraws : public ::testing::TestWithParam<DrawnCase> {};

// Proportions of draws below some values agree with the distribution within five standard errors.
TEST_P(ResponseDraws, HaveTheDistributionOfTheFamily) {
  const DrawnCase& one = GetParam();
  const ResponseDistribution drawn(chosen_family(one.family), one.scale);
  const ResponseDistribution of_weight(chosen_family(one.family), one.scale / one.weight);
  constexpr int count = 40'000;
  std::vector<double> draws;
  for (int row = 0; row < count; ++row) {
    tessera::base::RandomPlace random(11, static_cast<std::uint64_t>(row), 0);
    draws.push_back(drawn.draw(one.mean, one.weight, random));
  }
  std::vector<double> sorted = draws;
  std::sort(sorted.begin(), sorted.end());
  for (int part = 1; part < 20; ++part) {
    const double y = sorted[static_cast<std::size_t>(part * count / 20)];
    const double p = of_weight.cumulative(y, one.mean);
    const auto below = std::upper_bound(sorted.begin(), sorted.end(), y) - sorted.begin();
    EXPECT_NEAR(static_cast<double>(below) / count, p, 5 * std::sqrt(p * (1 - p) / count) + 1e-9) << y;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Families, ResponseDraws,
    ::testing::Values(DrawnCase{"gaussian", 0.3, 2, 1}, DrawnCase{"gaussian", 0.3, 2, 4},
                      DrawnCase{"Gamma(log)", 0.5, 3, 1}, DrawnCase{"Gamma(log)", 0.5, 3, 2.5},
                      DrawnCase{"inverse.gaussian(log)", 0.4, 1.6, 1},
                      DrawnCase{"inverse.gaussian(log)", 0.4, 1.6, 3},
                      DrawnCase{"scat(theta=c(4,0.7))", 1, 2, 1}, DrawnCase{"betar(theta=5)", 1, 0.7, 1},
                      DrawnCase{"Tweedie(p=1.5)", 0.8, 1.8, 1}, DrawnCase{"Tweedie(p=1.5)", 0.8, 1.8, 2},
                      DrawnCase{"poisson", 1, 0.4, 1}, DrawnCase{"poisson", 1, 60, 1},
                      DrawnCase{"nb(theta=2)", 1, 5, 1}, DrawnCase{"binomial", 1, 0.3, 1}));

TEST(ResponseDraws, OfTrialsAreProportions) {
  const ResponseDistribution binomial(chosen_family("binomial"), 1);
  double sum = 0;
  double squares = 0;
  constexpr int count = 20'000;
  for (int row = 0; row < count; ++row) {
    tessera::base::RandomPlace random(4, static_cast<std::uint64_t>(row), 0);
    const double successes = 10 * binomial.draw(0.3, 10, random);
    EXPECT_NEAR(successes, std::round(successes), 1e-12);
    sum += successes;
    squares += successes * successes;
  }
  EXPECT_NEAR(sum / count, 3, 5 * std::sqrt(2.1 / count));
  EXPECT_NEAR(squares / count - 9, 2.1, 0.35);
}

}  // namespace

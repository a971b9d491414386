// SPDX-License-Identifier: Apache-2.0
#include "gam/family/family.hpp"

#include "support/reference_case.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace tessera::gam {
namespace {

TEST(Family, NamesAsRHasThem) {
  EXPECT_EQ(parse_family("gaussian"), Family::gaussian);
  EXPECT_EQ(parse_family("binomial"), Family::binomial);
  EXPECT_EQ(parse_family("poisson"), Family::poisson);
  EXPECT_EQ(parse_family("gamma"), Family::gamma);
  EXPECT_EQ(parse_family("Gamma"), Family::gamma);
  EXPECT_FALSE(parse_family("Poisson").has_value());
  EXPECT_FALSE(parse_family("").has_value());
  for (const Family family : {Family::gaussian, Family::binomial, Family::poisson, Family::gamma}) {
    EXPECT_EQ(parse_family(family_name(family)), family);
  }
  EXPECT_EQ(link_name(Family::gaussian), "identity");
  EXPECT_EQ(link_name(Family::binomial), "logit");
  EXPECT_EQ(link_name(Family::poisson), "log");
  EXPECT_EQ(link_name(Family::gamma), "log");
}

TEST(Family, ScaleIsKnownWherePhiIsOne) {
  EXPECT_FALSE(scale_is_known(Family::gaussian));
  EXPECT_TRUE(scale_is_known(Family::binomial));
  EXPECT_TRUE(scale_is_known(Family::poisson));
  EXPECT_FALSE(scale_is_known(Family::gamma));
}

TEST(Family, ResponsesOutsideTheRange) {
  EXPECT_FALSE(response_fault(Family::gaussian, -1e300));
  EXPECT_TRUE(response_fault(Family::gaussian, std::nan("")));
  EXPECT_TRUE(response_fault(Family::gaussian, INFINITY));
  EXPECT_FALSE(response_fault(Family::binomial, 0));
  EXPECT_FALSE(response_fault(Family::binomial, 1));
  EXPECT_EQ(response_fault(Family::binomial, 1.0001), "must be between 0 and 1");
  EXPECT_EQ(response_fault(Family::binomial, -0.1), "must be between 0 and 1");
  EXPECT_FALSE(response_fault(Family::poisson, 0));
  EXPECT_EQ(response_fault(Family::poisson, -1), "must not be negative");
  EXPECT_FALSE(response_fault(Family::gamma, 1e-300));
  EXPECT_EQ(response_fault(Family::gamma, 0), "must be greater than 0");
}

TEST(Family, LinkUndoesItsInverse) {
  for (const Family family : {Family::gaussian, Family::binomial, Family::poisson, Family::gamma}) {
    for (const double eta : {-3.0, -0.2, 0.0, 1.7}) {
      EXPECT_NEAR(link(family, inverse_link(family, eta)), eta, 1e-14);
      const double step = 1e-6;
      const double slope = (inverse_link(family, eta + step) - inverse_link(family, eta - step)) / (2 * step);
      EXPECT_NEAR(mean_derivative(family, eta), slope, 1e-9 * (1 + slope));
    }
  }
}

// Sums of R's family()$aic over three rows with prior weights.
TEST(Family, LogLikelihoodOfWeightedRows) {
  const auto sum = [](Family family, const std::vector<double>& y, const std::vector<double>& mu,
                      const std::vector<double>& weight, double scale) {
    double total = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      total += minus_two_log_likelihood(family, y[i], mu[i], weight[i], scale);
    }
    return total;
  };
  // proportions 0.25, 0.5, 1 of 4, 2, 3 trials at 0.3, 0.6, 0.9
  EXPECT_NEAR(sum(Family::binomial, {0.25, 0.5, 1}, {0.3, 0.6, 0.9}, {4, 2, 3}, 1), 3.87550799415184, 1e-11);
  EXPECT_NEAR(sum(Family::poisson, {0, 3, 7}, {0.4, 2.5, 8}, {1, 2, 0.5}, 1), 8.94061966372892, 1e-11);
  // Gamma()$aic adds 2 for the dispersion, dev / sum(wt); gaussian()$aic adds 2, at dev / n.
  EXPECT_NEAR(sum(Family::gamma, {0.5, 2, 3.1}, {0.7, 1.5, 3}, {1, 2, 0.5}, 0.25) + 2, 7.38242846925207,
              1e-11);
  const double deviance = 0.09 + 2 * 0.25 + 0.5 * 0.01;
  EXPECT_NEAR(sum(Family::gaussian, {1.3, 2, 3.1}, {1, 1.5, 3}, {1, 2, 0.5}, deviance / 3) + 2,
              5.66021271291419, 1e-11);
  EXPECT_NEAR(minus_two_log_likelihood(Family::binomial, 0.3, 0.5, 1, 1), 2 * std::log(2.0), 1e-15);
  EXPECT_TRUE(likelihood_rounds(Family::binomial, 0.3, 1));
  EXPECT_TRUE(likelihood_rounds(Family::binomial, 1, 2.5));
  EXPECT_FALSE(likelihood_rounds(Family::binomial, 3.0 / 7, 7));
  EXPECT_FALSE(likelihood_rounds(Family::gamma, 0.3, 1));
  EXPECT_EQ(minus_two_log_likelihood(Family::poisson, 2.5, 2, 1, 1), INFINITY);
  EXPECT_EQ(minus_two_log_likelihood(Family::poisson, 2, 2, 0, 1), 0);
}

// aic - 2 sum(edf) of mgcv's bam, from the fitted values of the reference fits.
TEST(Family, LogLikelihoodOfReferenceFits) {
  struct Case {
    std::string name;
    Family family;
    double expected;
  };
  const std::vector<Case> cases{{"c02_gs1_gauss", Family::gaussian, 8289.1813002754},
                                {"c03_gs1_poisson", Family::poisson, 10580.633552896},
                                {"c04_gs1_binary", Family::binomial, 4194.8777330311},
                                {"c05_gs1_gamma", Family::gamma, 11126.99211134}};
  for (const Case& one : cases) {
    const testing::ReferenceCase data = testing::load_reference_case(one.name);
    const auto n = static_cast<double>(data.fitted.size());
    const double scale =
        aic_scale(one.family, data.reference.at("deviance"), n, data.reference.at("scale").get<double>());
    double sum = scale_is_known(one.family) ? 0 : 2;
    for (std::size_t i = 0; i < data.fitted.size(); ++i) {
      sum += minus_two_log_likelihood(one.family, data.numbers.at("y")[i], data.fitted[i], 1, scale);
    }
    EXPECT_NEAR(sum, one.expected, 1e-8 * one.expected) << one.name;
  }
}

}  // namespace
}  // namespace tessera::gam

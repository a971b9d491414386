// SPDX-License-Identifier: Apache-2.0
#include "gam/family/family.hpp"

#include "gam/family/list.hpp"

#include "support/reference_case.hpp"

#include <tessera/gam/family.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <tessera/error.hpp>
#include <vector>

namespace tessera::gam {
namespace {

TEST(Family, NamesAsRHasThem) {
  const auto name = [](const char* text) { return parse_family(text).value().name(); };
  EXPECT_EQ(name("gaussian"), "gaussian");
  EXPECT_EQ(name("binomial"), "binomial");
  EXPECT_EQ(name("poisson"), "poisson");
  EXPECT_EQ(name("gamma"), "Gamma");
  EXPECT_EQ(name("Gamma"), "Gamma");
  EXPECT_FALSE(parse_family("Poisson").has_value());
  EXPECT_FALSE(parse_family("").has_value());
  // As R's users write them.
  const auto chosen = [](const char* text) { return chosen_family(text).name(); };
  for (const char* text : {"Poisson", "POISSON", "poisson()", " poisson( ) ", "poisson(log)", "'poisson'",
                           "poisson(link = \"log\")", "poisson(link='LOG')"})
    EXPECT_EQ(chosen(text), "poisson") << text;
  EXPECT_EQ(chosen("gaussian(identity)"), "gaussian");
  EXPECT_EQ(chosen("binomial(logit)"), "binomial");
  EXPECT_EQ(chosen("Gamma(link=log)"), "Gamma");
  const auto refusal = [](const char* text) -> std::string {
    try {
      return std::string(chosen_family(text).name());
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::usage);
      return error.what();
    }
  };
  EXPECT_EQ(
      refusal("binomial(link = probit)"),
      "the family 'binomial(link = probit)': binomial is there with the link logit alone: write binomial, or "
      "@FILE for a custom family");
  for (const char* text :
       {"", "normal", "poisson(", "poisson(log, 2)", "poisson(links = log)", "poisson + 1"})
    EXPECT_NE(refusal(text).find("is not gaussian, binomial, poisson or gamma: write @FILE"),
              std::string::npos)
        << text;
  EXPECT_EQ(Family().name(), "gaussian");
  EXPECT_EQ(family_names(), (std::vector<std::string>{"gaussian", "binomial", "poisson", "gamma"}));
  EXPECT_EQ(Family(Gaussian{}).link_name(), "identity");
  EXPECT_EQ(Family(Binomial{}).link_name(), "logit");
  EXPECT_EQ(Family(Poisson{}).link_name(), "log");
  EXPECT_EQ(Family(Gamma{}).link_name(), "log");
}

TEST(Family, ScaleIsKnownWherePhiIsOne) {
  EXPECT_FALSE(Family(Gaussian{}).scale_is_known());
  EXPECT_TRUE(Family(Binomial{}).scale_is_known());
  EXPECT_TRUE(Family(Poisson{}).scale_is_known());
  EXPECT_FALSE(Family(Gamma{}).scale_is_known());
}

TEST(Family, ResponsesOutsideTheRange) {
  EXPECT_FALSE(Family(Gaussian{}).response_fault(-1e300));
  EXPECT_TRUE(Family(Gaussian{}).response_fault(std::nan("")));
  EXPECT_TRUE(Family(Gaussian{}).response_fault(INFINITY));
  EXPECT_FALSE(Family(Binomial{}).response_fault(0));
  EXPECT_FALSE(Family(Binomial{}).response_fault(1));
  EXPECT_EQ(Family(Binomial{}).response_fault(1.0001), "must be between 0 and 1");
  EXPECT_EQ(Family(Binomial{}).response_fault(-0.1), "must be between 0 and 1");
  EXPECT_FALSE(Family(Poisson{}).response_fault(0));
  EXPECT_EQ(Family(Poisson{}).response_fault(-1), "must not be negative");
  EXPECT_FALSE(Family(Gamma{}).response_fault(1e-300));
  EXPECT_EQ(Family(Gamma{}).response_fault(0), "must be greater than 0");
}

TEST(Family, LinkUndoesItsInverse) {
  for (const Family& family : built_in_families()) {
    for (const double eta : {-3.0, -0.2, 0.0, 1.7}) {
      EXPECT_NEAR(family.predictor(family.mean(eta)).value(), eta, 1e-14);
      const double step = 1e-6;
      const double slope = (family.mean(eta + step) - family.mean(eta - step)) / (2 * step);
      EXPECT_NEAR(family.derivative(eta), slope, 1e-9 * (1 + slope));
    }
  }
}

// Sums of R's family()$aic over three rows with prior weights.
TEST(Family, LogLikelihoodOfWeightedRows) {
  const auto sum = [](const Family& family, const std::vector<double>& y, const std::vector<double>& mu,
                      const std::vector<double>& weight, double scale) {
    double total = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      total += family.minus_two_log_likelihood(y[i], mu[i], weight[i], scale);
    }
    return total;
  };
  // proportions 0.25, 0.5, 1 of 4, 2, 3 trials at 0.3, 0.6, 0.9
  EXPECT_NEAR(sum(Binomial{}, {0.25, 0.5, 1}, {0.3, 0.6, 0.9}, {4, 2, 3}, 1), 3.87550799415184, 1e-11);
  EXPECT_NEAR(sum(Poisson{}, {0, 3, 7}, {0.4, 2.5, 8}, {1, 2, 0.5}, 1), 8.94061966372892, 1e-11);
  // Gamma()$aic adds 2 for the dispersion, dev / sum(wt); gaussian()$aic adds 2, at dev / n.
  EXPECT_NEAR(sum(Gamma{}, {0.5, 2, 3.1}, {0.7, 1.5, 3}, {1, 2, 0.5}, 0.25) + 2, 7.38242846925207, 1e-11);
  const double deviance = 0.09 + 2 * 0.25 + 0.5 * 0.01;
  EXPECT_NEAR(sum(Gaussian{}, {1.3, 2, 3.1}, {1, 1.5, 3}, {1, 2, 0.5}, deviance / 3) + 2, 5.66021271291419,
              1e-11);
  EXPECT_NEAR(Family(Binomial{}).minus_two_log_likelihood(0.3, 0.5, 1, 1), 2 * std::log(2.0), 1e-15);
  EXPECT_TRUE(Family(Binomial{}).likelihood_rounds(0.3, 1));
  EXPECT_TRUE(Family(Binomial{}).likelihood_rounds(1, 2.5));
  EXPECT_FALSE(Family(Binomial{}).likelihood_rounds(3.0 / 7, 7));
  EXPECT_FALSE(Family(Gamma{}).likelihood_rounds(0.3, 1));
  EXPECT_EQ(Family(Poisson{}).minus_two_log_likelihood(2.5, 2, 1, 1), INFINITY);
  EXPECT_EQ(Family(Poisson{}).minus_two_log_likelihood(2, 2, 0, 1), 0);
}

// aic - 2 sum(edf) of mgcv's bam, from the fitted values of the reference fits.
TEST(Family, LogLikelihoodOfReferenceFits) {
  struct Case {
    std::string name;
    Family family;
    double expected;
  };
  const std::vector<Case> cases{{"c02_gs1_gauss", Gaussian{}, 8289.1813002754},
                                {"c03_gs1_poisson", Poisson{}, 10580.633552896},
                                {"c04_gs1_binary", Binomial{}, 4194.8777330311},
                                {"c05_gs1_gamma", Gamma{}, 11126.99211134}};
  for (const Case& one : cases) {
    const testing::ReferenceCase data = testing::load_reference_case(one.name);
    const auto n = static_cast<double>(data.fitted.size());
    const double scale =
        one.family.aic_scale(data.reference.at("deviance"), n, data.reference.at("scale").get<double>());
    double sum = one.family.scale_is_known() ? 0 : 2;
    for (std::size_t i = 0; i < data.fitted.size(); ++i) {
      sum += one.family.minus_two_log_likelihood(data.numbers.at("y")[i], data.fitted[i], 1, scale);
    }
    EXPECT_NEAR(sum, one.expected, 1e-8 * one.expected) << one.name;
  }
}

}  // namespace
}  // namespace tessera::gam

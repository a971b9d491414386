// SPDX-License-Identifier: Apache-2.0
#include "gam/family/family.hpp"

#include "gam/family/list.hpp"

#include "gam/family/row_step.hpp"
#include "gam/family/saturated_sum.hpp"
#include "gam/family/visit.hpp"

#include "support/errors.hpp"
#include "support/reference_case.hpp"

#include <tessera/gam/family.hpp>
#include <tessera/gam/quantiles.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tessera/error.hpp>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

std::string refusal(const char* text) {
  return error_of(ErrorCode::usage, [&] { static_cast<void>(chosen_family(text)); });
}

TEST(Family, NamesAsRHasThem) {
  const auto name = [](const char* text) { return parse_family(text).value().name(); };
  EXPECT_EQ(name("gaussian"), "gaussian");
  EXPECT_EQ(name("binomial"), "binomial");
  EXPECT_EQ(name("poisson"), "poisson");
  EXPECT_EQ(name("gamma"), "Gamma");
  EXPECT_EQ(name("Gamma"), "Gamma");
  EXPECT_FALSE(parse_family("Poisson").has_value());
  EXPECT_FALSE(parse_family("").has_value());
  // The forms that R's users write.
  const auto chosen = [](const char* text) { return chosen_family(text).name(); };
  for (const char* text : {"Poisson", "POISSON", "poisson()", " poisson( ) ", "poisson(log)", "'poisson'",
                           "poisson(link = \"log\")", "poisson(link='LOG')"})
    EXPECT_EQ(chosen(text), "poisson") << text;
  EXPECT_EQ(chosen("gaussian(identity)"), "gaussian");
  EXPECT_EQ(chosen("binomial(logit)"), "binomial");
  EXPECT_EQ(chosen("Gamma(link=log)"), "Gamma");
  EXPECT_EQ(
      refusal("binomial(link = sqrt)"),
      "the family 'binomial(link = sqrt)': binomial needs the link logit, probit, cloglog, cauchit or log: "
      "write binomial, or @FILE for a custom family");
  for (const char* text : {"", "normal", "poisson(", "poisson(log, 2)", "poisson(links = log)", "poisson + 1",
                           "poisson(theta = 2)", "nb(3, 4)", "nb(size = 3)", "nb(theta = c(1, 2))"})
    EXPECT_NE(
        refusal(text).find("is not gaussian, binomial, poisson, gamma, nb, inverse.gaussian, quasipoisson, "
                           "quasibinomial, quasi, tweedie, tw, scat, betar, ocat, cnorm, clog, cpois, elf, "
                           "zip, gaulss, gammals, gumbls, "
                           "gevlss, shash, twlss, ziplss or multinom: write @FILE"),
        std::string::npos)
        << text;
  EXPECT_EQ(Family().name(), "gaussian");
  EXPECT_EQ(family_names(),
            (std::vector<std::string>{
                "gaussian",     "binomial",      "poisson", "gamma",   "nb",     "inverse.gaussian",
                "quasipoisson", "quasibinomial", "quasi",   "tweedie", "tw",     "scat",
                "betar",        "ocat",          "cnorm",   "clog",    "cpois",  "elf",
                "zip",          "gaulss",        "gammals", "gumbls",  "gevlss", "shash",
                "twlss",        "ziplss",        "multinom"}));
  EXPECT_EQ(Family(Gaussian{}).link_name(), "identity");
  EXPECT_EQ(Family(Binomial{}).link_name(), "logit");
  EXPECT_EQ(Family(Poisson{}).link_name(), "log");
  EXPECT_EQ(Family(Gamma{}).link_name(), "log");
}

// As in mgcv's nb(): above 0 fixed; below 0 minus the initial estimate; 0 or missing: to be estimated.
TEST(Family, ParametersAsRHasThem) {
  struct Written {
    const char* text;
    double theta;
    bool estimated;
  };
  for (const Written& one :
       {Written{"nb", 1, true}, Written{"NB()", 1, true}, Written{"nb(link = log)", 1, true},
        Written{"nb(theta = 0)", 1, true}, Written{"nb(theta = 3)", 3, false},
        Written{"nb(2.5, log)", 2.5, false}, Written{"nb(link = \"log\", theta = 1e-3)", 1e-3, false},
        Written{"nb(theta = -7)", 7, true}, Written{"nb(link = log, theta = NULL)", 1, true}}) {
    const Family family = chosen_family(one.text);
    EXPECT_EQ(family.name(), "nb") << one.text;
    ASSERT_EQ(family.parameters().size(), 1) << one.text;
    EXPECT_EQ(family.parameters()[0], one.theta) << one.text;
    EXPECT_EQ(family.estimates_parameters(), one.estimated) << one.text;
    EXPECT_EQ(chosen_family(family.text()).text(), family.text());
  }
  EXPECT_EQ(chosen_family("nb(theta=3)").text(), "nb(theta=3)");
  EXPECT_EQ(chosen_family("nb(theta=3)").title(), "Negative Binomial(3)");
  EXPECT_EQ(chosen_family("nb").at({2.34449}).title(), "Negative Binomial(2.344)");
  EXPECT_EQ(chosen_family("nb").at({6398498.9031}).title(), "Negative Binomial(6398498.903)");
  EXPECT_EQ(Family(Poisson{}).title(), "poisson");
  EXPECT_TRUE(Family(Poisson{}).parameters().empty());
  EXPECT_FALSE(Family(Poisson{}).estimates_parameters());
  EXPECT_EQ(chosen_family("nb").parameter_names(), (std::vector<std::string>{"theta"}));
  EXPECT_EQ(chosen_family("negbin(3)").text(), "nb(theta=3)");
  EXPECT_EQ(chosen_family("negbin(theta = 3, link = \"sqrt\")").text(), "nb(theta=3, sqrt)");
  for (const char* const without : {"negbin", "negbin()", "negbin(-3)", "negbin(0)", "negbin(link = log)"})
    EXPECT_THROW((void)chosen_family(without), Error) << without;
  EXPECT_EQ(chosen_family("nb(3, sqrt)").text(), "nb(theta=3, sqrt)");
  EXPECT_EQ(chosen_family("nb(link = identity, theta = -2)").text(), "nb(theta=-2, identity)");
  EXPECT_THROW((void)chosen_family("nb(link = inverse)"), Error);
  EXPECT_THROW((void)chosen_family("nb(theta = 1e999)"), Error);
  EXPECT_THROW((void)chosen_family("nb").at({1, 2}), std::invalid_argument);
}

TEST(Family, ArgumentsAsRHasThem) {
  struct Written {
    const char* text;
    const char* same;
    const char* title;
  };
  for (const Written& one :
       {Written{"tw", "tw(theta=-1.5, a=1.01, b=1.99)", "Tweedie(p=1.5)"},
        Written{"TW(a = 1.2, b = 1.6)", "tw(theta=-1.4, a=1.2, b=1.6)", "Tweedie(p=1.4)"},
        Written{"tw(1.3, sqrt)", "tw(theta=1.3, a=1.01, b=1.99, sqrt)", "Tweedie(p=1.3)"},
        Written{"tw(theta = 0)", "tw(theta=-1.5, a=1.01, b=1.99)", "Tweedie(p=1.5)"},
        Written{"Tweedie(p = 1.25)", "Tweedie(p=1.25)", "Tweedie(1.25)"},
        Written{"tweedie(2, link = power(0.5))", "Tweedie(p=2, sqrt)", "Tweedie(2)"},
        Written{"scat(theta = c(4, .5), link = \"log\")", "scat(theta=c(4, 0.5), min.df=3, log)",
                "Scaled t(4,0.5)"},
        Written{"scat(c(-2, -1))", "scat(theta=c(-2, -1), min.df=1.8)", "Scaled t(2,1)"},
        Written{"scat(theta = c(2000, 1))", "scat(theta=c(2000, 1), min.df=3)", "Scaled t(Inf,1)"},
        Written{"betar(theta = 12.3456, eps = 1e-6)", "betar(theta=12.3456, eps=1e-06)",
                "Beta regression(12.346)"},
        Written{"quasi", "quasi(variance=\"constant\")", "quasi"},
        Written{"quasi(log, mu^2)", "quasi(variance=\"mu^2\", log)", "quasi"},
        Written{"quasi(link = 'logit', variance = mu(1 - mu))", "quasi(variance=\"mu(1-mu)\", logit)",
                "quasi"},
        Written{"quasi(variance = \"mu\")", "quasi(variance=\"mu\")", "quasi"}}) {
    const Family family = chosen_family(one.text);
    EXPECT_EQ(family.text(), one.same);
    EXPECT_EQ(chosen_family(family.text()).text(), one.same);
    EXPECT_EQ(family.title(), one.title);
  }
  for (const char* text :
       {"tw(theta = 1)", "tw(theta = 2.5)", "tw(a = 1)", "tw(a = 1.5, b = 1.4)", "Tweedie",
        "Tweedie(p = 2.1)", "scat(theta = 3)", "scat(min.df = -1)", "scat(theta = c(5, 0.5, 1))",
        "betar(eps = 0.6)", "betar(log)", "quasi(variance = \"mu^4\")", "quasi(log, mu, 3)",
        "quasi(variance = 7)", "tw(link = logit)"})
    EXPECT_THROW((void)chosen_family(text), Error) << text;
  const Family tweedie = chosen_family("tw(theta = 1.3)");
  EXPECT_EQ(tweedie.parameter_count(), 2);
  EXPECT_FALSE(tweedie.estimates(0));
  EXPECT_TRUE(tweedie.estimates(1));
  EXPECT_FALSE(tweedie.estimates(2));
  EXPECT_TRUE(tweedie.estimates_parameters());
  EXPECT_EQ(tweedie.at({1.3, 0.5, 1.01, 1.99}).scale(), 0.5);
  EXPECT_FALSE(tweedie.scale_is_known());
  EXPECT_EQ(Family(Poisson{}).scale(), 1);
  EXPECT_FALSE(chosen_family("Tweedie(1.5)").scale());
  EXPECT_FALSE(chosen_family("scat(theta = c(4, .5))").estimates_parameters());
}

TEST(Family, ParametersStayInsideTheirIntervals) {
  for (const char* const text : {"scat", "tw", "nb", "betar"}) {
    for (const double far : {-1000.0, -60.0, 60.0, 1000.0}) {
      const Family family = chosen_family(text);
      std::vector<double> working = family.working_parameters();
      working[0] = far;
      EXPECT_TRUE(family.at_working(working).parameters_are_valid()) << text << " at " << far;
    }
  }
}

TEST(Family, WorkingParametersAreThereAndBack) {
  const Family family = chosen_family("nb(theta=2.5)");
  const std::vector<double> working = family.working_parameters();
  EXPECT_NEAR(family.at_working(working).parameters()[0], 2.5, 1e-15);
  EXPECT_FALSE(family.at_working(working).estimates_parameters());
  EXPECT_TRUE(family.parameters_are_valid());
  for (const double none : {0.0, -1.0, static_cast<double>(INFINITY), std::nan("")})
    EXPECT_FALSE(family.at({none}).parameters_are_valid()) << none;
}

// theta (theta + 1) … (theta + y - 1), by the definition.
TEST(Family, RisingFactorialsOfCounts) {
  for (const double theta : {1e-8, 0.3, 1.0, 2.3, 9.75, 10.0, 47.5, 1e6, 1e12}) {
    for (const int y : {0, 1, 2, 7, 30, 1000}) {
      long double log = 0;
      long double first = 0;
      long double second = 0;
      for (int j = 0; j < y; ++j) {
        log += std::log1p(j / static_cast<long double>(theta));
        first += 1 / (static_cast<long double>(theta) + j);
        second -= 1 / ((static_cast<long double>(theta) + j) * (static_cast<long double>(theta) + j));
      }
      const RisingFactorialSlope slope = rising_factorial_slope(theta, y);
      EXPECT_NEAR(log_rising_factorial(theta, y), static_cast<double>(log),
                  2e-15 * (y + static_cast<double>(log)))
          << theta << ' ' << y;
      EXPECT_NEAR(slope.first, static_cast<double>(first), 4e-15 * static_cast<double>(first))
          << theta << ' ' << y;
      EXPECT_NEAR(slope.second, static_cast<double>(second), -1e-14 * static_cast<double>(second))
          << theta << ' ' << y;
    }
  }
}

/// Three counts and a fractional number, with prior weights.
struct WeightedRows {
  std::vector<double> y{0, 3, 17, 2.5};
  std::vector<double> mu{0.4, 2.5, 8, 3};
  std::vector<double> weight{1, 2, 0.5, 1.5};

  [[nodiscard]] std::vector<double> terms(double theta) const {
    std::vector<double> sums(3);
    for (std::size_t i = 0; i < y.size(); ++i) {
      std::vector<double> terms(3);
      Nb(&theta).likelihood_terms(y[i], mu[i], terms.data());
      for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += weight[i] * terms[k];
    }
    return sums;
  }
};

// Values of mgcv's nb(theta = 2.3): aic, dev.resids, -2 ls; Dth / 2 - lsth1 and Dth2 / 2 - lsth2.
TEST(Family, NegativeBinomialIsMgcvs) {
  const WeightedRows rows;
  const Family family = chosen_family("nb(theta = 2.3)");
  double likelihood = 0;
  double deviance = 0;
  for (std::size_t i = 0; i < rows.y.size(); ++i) {
    likelihood += family.minus_two_log_likelihood(rows.y[i], rows.mu[i], rows.weight[i], 1);
    deviance += family.deviance(rows.y[i], rows.mu[i], rows.weight[i]);
  }
  EXPECT_NEAR(likelihood, 18.13927595640921, 1e-13);
  EXPECT_NEAR(deviance, 1.578674525303993, 1e-13);
  EXPECT_NEAR(SaturatedSum(family, 1).add(0, rows.y, rows.weight, {}), 16.56060143110522, 1e-13);
  EXPECT_NEAR(rows.terms(2.3)[1], -0.9424990034411537, 1e-13);
  EXPECT_NEAR(rows.terms(2.3)[2], 0.758349810424326, 1e-13);
}

TEST(Family, DerivativesInThetaAreThoseOfTheLikelihood) {
  const WeightedRows rows;
  const double step = 1e-4;
  for (const double theta : {0.02, 1.0, 9.9, 300.0}) {
    const auto at = [&](double steps) { return rows.terms(theta * std::exp(steps * step)); };
    EXPECT_NEAR(at(0)[1], (at(1)[0] - at(-1)[0]) / (2 * step), 1e-7 * std::abs(at(0)[1]) + 1e-9) << theta;
    EXPECT_NEAR(at(0)[2], (at(1)[1] - at(-1)[1]) / (2 * step), 1e-7 * std::abs(at(0)[2]) + 1e-9) << theta;
  }
}

TEST(Family, NegativeBinomialOfAnInfiniteThetaIsPoisson) {
  const WeightedRows rows;
  const Family poisson = Poisson{};
  const Family family = chosen_family("nb(theta = 1e14)");
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(family.minus_two_log_likelihood(rows.y[i], rows.mu[i], 1, 1),
                poisson.minus_two_log_likelihood(rows.y[i], rows.mu[i], 1, 1), 1e-11);
    EXPECT_NEAR(family.deviance(rows.y[i], rows.mu[i], 1), poisson.deviance(rows.y[i], rows.mu[i], 1), 1e-12);
  }
  // Where nearly all terms cancel, the rest is 1 / theta of a number.
  EXPECT_NEAR(rows.terms(1e8)[1] / rows.terms(1e6)[1], 0.01, 1e-4);
  EXPECT_NEAR(rows.terms(1e8)[2] / rows.terms(1e8)[1], -1, 1e-4);
}

/// Rows with prior weights of a family with parameters: the sums of the likelihood's terms.
struct RowsOf {
  Family family;
  std::vector<double> y;
  std::vector<double> mu;
  std::vector<double> weight;

  [[nodiscard]] std::vector<double> terms() const {
    return visit(family, [&](const auto& one) {
      using F = std::decay_t<decltype(one)>;
      std::vector<double> sums;
      if constexpr (ParametricFamily<F>) {
        sums.resize(static_cast<std::size_t>(likelihood_term_count(parameter_count_of(one))));
        for (std::size_t i = 0; i < y.size(); ++i) {
          std::vector<double> of_row(sums.size());
          one.likelihood_terms(y[i], mu[i], of_row.data());
          for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += weight[i] * of_row[k];
        }
      }
      return sums;
    });
  }
  [[nodiscard]] double minus_two_log() const {
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i)
      sum += family.minus_two_log_likelihood(y[i], mu[i], weight[i], family.scale().value());
    return sum;
  }
  [[nodiscard]] RowsOf moved(std::size_t parameter, double by) const {
    std::vector<double> working = family.working_parameters();
    working[parameter] += by;
    RowsOf other = *this;
    other.family = family.at_working(working);
    return other;
  }
};

void expect_near_all(const std::vector<double>& found, const std::vector<double>& expected,
                     double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << i;
}

const std::vector<double> some_weights{1, 2, 0.5, 1.5};

// mgcv's ldTweedie(y, mu, rho=, theta=), without sum(w log(y)), which does not depend on the parameters.
TEST(Family, TweedieIsMgcvs) {
  const RowsOf rows{
      chosen_family("tw").at({1.3, 0.8, 1.01, 1.99}), {0, 0.02, 1.7, 40}, {0.5, 0.3, 2.5, 11}, some_weights};
  expect_near_all(rows.terms(),
                  {29.35027745813261 + 2.025412704154302, -20.15449562976041, -13.26471514768209,
                   15.05787688564535, 4.755075659789751, 21.00550188261487},
                  1e-11);
  EXPECT_NEAR(rows.minus_two_log(), 2 * 29.35027745813261, 1e-12);
  double deviance = 0;
  for (std::size_t i = 0; i < 4; ++i) deviance += rows.family.deviance(rows.y[i], rows.mu[i], rows.weight[i]);
  EXPECT_NEAR(deviance, 32.32008866903343, 1e-12);
  EXPECT_NEAR(SaturatedSum(rows.family, 0.8).add(0, rows.y, rows.weight, {}) + deviance / 0.8,
              2 * 29.35027745813261, 1e-12);
  const Family fixed = chosen_family("Tweedie(1.3)");
  EXPECT_NEAR(fixed.minus_two_log_likelihood(1.7, 2.5, 1, 0.8),
              rows.family.minus_two_log_likelihood(1.7, 2.5, 1, 0.8), 1e-14);
  const Family gamma = Gamma{};
  EXPECT_NEAR(chosen_family("Tweedie(2)").deviance(1.7, 2.5, 3), gamma.deviance(1.7, 2.5, 3), 1e-14);
  EXPECT_EQ(chosen_family("Tweedie(2)").minus_two_log_likelihood(1.7, 2.5, 1, 0.8),
            gamma.minus_two_log_likelihood(1.7, 2.5, 1, 0.8));
}

// Dd, ls, aic of mgcv's scat(theta = c(4.5, 0.7)).
TEST(Family, ScaledTIsMgcvs) {
  const RowsOf rows{
      chosen_family("scat(theta = c(4.5, 0.7))"), {-1, 0.2, 3, 30}, {-0.7, 1, 2.9, 2}, some_weights};
  const std::vector<double> terms = rows.terms();
  expect_near_all(
      {terms.begin() + 1, terms.end()},
      {5.112929190527296, -5.929480271118235, 4.905603597469533, -2.260594144865834, 4.321039210816662},
      1e-13);
  EXPECT_NEAR(rows.minus_two_log(), 57.69056442564312, 1e-12);
  const Scat scat(std::vector<double>{4.5, 0.7, 3}.data());
  EXPECT_NEAR(1 / scat.variance(0.0), 1.496598639455783, 1e-14);
  EXPECT_NEAR(scat.mean_step(0.2, 1.0), -1.033391915641476, 1e-14);
  EXPECT_NEAR(scat.mean_step(30, 2.0), 0.1308818946712371, 1e-14);
}

// Dd, aic and saturated.ll of mgcv's betar(theta = 7).
TEST(Family, BetaRegressionIsMgcvs) {
  const RowsOf rows{
      chosen_family("betar(theta = 7)"), {1e-10, 0.2, 0.7, 0.999}, {0.1, 0.25, 0.4, 0.9}, some_weights};
  const std::vector<double> terms = rows.terms();
  expect_near_all({terms.begin() + 1, terms.end()}, {15.58409163025399, 18.79489687404163}, 1e-13);
  EXPECT_NEAR(rows.minus_two_log(), -28.37840422301333, 1e-12);
  const double saturated = SaturatedSum(rows.family, 1).add(0, rows.y, rows.weight, {});
  EXPECT_NEAR(saturated, -2 * 27.85393116563848, 1e-9);
  EXPECT_TRUE(rows.family.deviance_lacks_saturated());
  double deviance = 0;
  for (std::size_t i = 0; i < 4; ++i) deviance += rows.family.deviance(rows.y[i], rows.mu[i], rows.weight[i]);
  EXPECT_NEAR(deviance, -28.37840422301333 - saturated, 1e-12);
  const Betar betar(std::vector<double>{7, 1e-14}.data());
  EXPECT_NEAR(1 / betar.variance(0.25), 47.71925182736306, 1e-12);
  EXPECT_NEAR(betar.mean_step(0.2, 0.25), -0.01082427590615026, 1e-15);
  EXPECT_EQ(rows.family.deviance(0, 0.3, 1), rows.family.deviance(1e-15, 0.3, 1));
  EXPECT_TRUE(std::isfinite(rows.family.deviance(1, 0.3, 1)));
}

// Dd and dev.resids of mgcv's ocat(theta = c(1.5, 0.25, 2)).
TEST(Family, OrderedClassesAreMgcvs) {
  const RowsOf rows{chosen_family("ocat(theta = c(1.5, 0.25, 2))"),
                    {1, 2, 3, 4, 5},
                    {-0.7, 1, 0.6, 2.9, 2},
                    {1, 2, 0.5, 1.5, 0.7}};
  // Of the first threshold: minus the derivatives by the predictor.
  std::vector<double> terms = rows.terms();
  EXPECT_NEAR(terms[1],
              -(1.14888503362331806 + 2.01302563671894763 - 0.01245065786480897 + 1.29929586667424513 -
                0.95085017884555012) /
                  2,
              1e-13);
  EXPECT_NEAR(terms[5],
              (0.4889166233814918 + 1.3599891904204036 + 0.4979750468704349 + 1.0261356770371126 +
               0.3050529912665395) /
                  2,
              1e-13);
  terms.erase(terms.begin() + 5, terms.begin() + 9);
  terms.erase(terms.begin() + 1);
  expect_near_all(terms,
                  {7.28399514870484, -2.981025016445082, -0.541478438334093, -1.130992285434696,
                   1.797998001386510891, 0.296210189058974338, 1.576275016948753382, 0.005293877723714757,
                   0.262712502824792249, 2.056800228613107961},
                  1e-13);
  const std::vector<double> slopes{1.14888503362331806, 2.01302563671894763, -0.01245065786480897,
                                   1.29929586667424513, -0.95085017884555012};
  const std::vector<double> curvatures{0.4889166233814918, 1.3599891904204036, 0.4979750468704349,
                                       1.0261356770371126, 0.3050529912665395};
  const std::vector<double> deviances{1.708710488937054, 5.413949816594132, 2.774045257309135,
                                      3.079665326008500, 1.591619408560860};
  const std::vector<double> sides{-1, -1, 1, -1, 1};
  for (std::size_t i = 0; i < rows.y.size(); ++i) {
    const RowStep step = visit(
        rows.family, [&](const auto& one) { return row_step(one, rows.y[i], rows.mu[i], rows.weight[i]); });
    EXPECT_NEAR(step.weight, curvatures[i] / 2, 1e-14) << i;
    EXPECT_NEAR(step.residual, -slopes[i] / curvatures[i], 1e-14) << i;
    EXPECT_NEAR(step.deviance, deviances[i], 1e-14) << i;
    EXPECT_EQ(rows.family.working_weight(rows.y[i], rows.mu[i], rows.weight[i]), step.weight) << i;
    EXPECT_NEAR(rows.family.deviance(rows.y[i], rows.mu[i], rows.weight[i]), deviances[i], 1e-14) << i;
    EXPECT_EQ(std::copysign(1, rows.family.residual_side(rows.y[i], rows.mu[i])), sides[i]) << i;
  }
  EXPECT_EQ(SaturatedSum(rows.family, 1).add(0, rows.y, rows.weight, {}), 0);
  std::vector<double> shares(5);
  std::vector<double> shares_above(5);
  std::vector<double> slopes_of_shares(5);
  rows.family.respond(std::vector{1.0}, shares, slopes_of_shares);
  rows.family.respond(std::vector{1 + 1e-6}, shares_above, {});
  const std::vector<double> up_to{0.1192029220221175, 0.3775406687981454, 0.4378234991142019,
                                  0.8519528019683106, 1};
  double sum = 0;
  for (std::size_t c = 0; c < shares.size(); ++c) {
    EXPECT_NEAR(sum += shares[c], up_to[c], 1e-15);
    EXPECT_NEAR(slopes_of_shares[c], (shares_above[c] - shares[c]) / 1e-6, 1e-6);
  }
  EXPECT_EQ(rows.family.response_residual(5, 0.6), 2);
  // Without cancellation, far from a narrow class: log(exp(-40) (1 - exp(-1e-9))).
  EXPECT_NEAR(chosen_family("ocat(theta = c(1e-9, 3))").deviance(2, 39, 1), 2 * (40 + 9 * std::log(10.0)),
              1e-6);
  EXPECT_TRUE(std::isfinite(rows.family.deviance(3, 700, 1)));
}

TEST(Family, OrderedClassesAsRHasThem) {
  const Family four = chosen_family("ocat(R = 4)");
  EXPECT_EQ(four.classes(), 4);
  EXPECT_EQ(four.first_class(), 1);
  EXPECT_TRUE(four.has_classes());
  EXPECT_TRUE(four.estimates_parameters());
  EXPECT_FALSE(four.estimates(0));
  EXPECT_TRUE(four.moves(0, true));
  EXPECT_FALSE(four.moves(0, false));
  EXPECT_EQ(four.parameter_names(), (std::vector<std::string>{"threshold.1", "threshold.2", "threshold.3"}));
  EXPECT_EQ(four.at({-1, 0.224, 1.288}).title(), "Ordered Categorical(-1,0.22,1.29)");
  EXPECT_EQ(four.outputs({}), (std::vector<std::string>{".1", ".2", ".3", ".4"}));
  EXPECT_EQ(chosen_family(four.text()).text(), four.text());
  const Family fixed = chosen_family("ocat(c(1.5, 0.25))");
  EXPECT_EQ(fixed.text(), "ocat(theta=c(1.5, 0.25))");
  EXPECT_FALSE(fixed.estimates_parameters());
  EXPECT_EQ(std::vector(fixed.parameters().begin(), fixed.parameters().end()),
            (std::vector{-1.0, 0.5, 0.75}));
  EXPECT_TRUE(chosen_family("ocat(theta = -2)").estimates_parameters());
  EXPECT_EQ(chosen_family("ocat(R = 100)").parameter_count(), 99U);
  EXPECT_FALSE(four.at({-1, 0.5, 0.5}).parameters_are_valid());
  EXPECT_FALSE(four.at({-1, -1.5, 0.5}).parameters_are_valid());
  for (const double bad : {0.0, 5.0, 1.5}) EXPECT_TRUE(four.response_fault(bad)) << bad;
  EXPECT_FALSE(four.response_fault(4));
  EXPECT_EQ(refusal("ocat"), "ocat: the number of classes is missing: write ocat(R=4)");
  EXPECT_EQ(refusal("ocat(R = 2)"),
            "ocat: R is 2: give the number of classes, from 3 to 100; for two classes, use binomial");
  EXPECT_EQ(refusal("ocat(R = 4, theta = 2)"),
            "ocat: theta has 1 numbers, but 4 classes need 2: leave out R or theta");
  EXPECT_NE(refusal("ocat(R = 4, probit)").find("ocat needs the link identity"), std::string::npos);
}

// Dd, dev.resids, aic and ls of elf(theta = -0.4, qu = 0.8, co = 0.3), of qgam 2.0.0.
TEST(Family, QuantilesAreQgams) {
  const Family family = chosen_family("elf(qu = 0.8, lsig = -0.4, co = 0.3)");
  const std::vector<double> y{-1.2, 0.3, 2.5, 0.71, 9};
  const std::vector<double> mu{0.1, 0.2, 1.4, 0.7, 1};
  const std::vector<double> weights{1, 2, 0.5, 1.5, 0.7};
  const std::vector<double> slopes{0.5580804977428924, -2.2829107303288043, -1.1562768828663033,
                                   -1.3799343924039209, -1.6708436613527442};
  const std::vector<double> curvatures{1.271624258628298e-01, 4.837135384169239e+00, 1.208537113336581e-01,
                                       3.728525946549503e+00, 1.826158165907164e-11};
  const std::vector<double> deviances{0.3395117935841403, 0.5488181109265308, 1.1001481564769169,
                                      0.2724001417127023, 13.0532139593060226};
  double likelihood = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const RowStep step =
        visit(family, [&](const auto& one) { return row_step(one, y[i], mu[i], weights[i]); });
    EXPECT_NEAR(step.weight / (curvatures[i] / 2), 1, 1e-13) << i;
    EXPECT_NEAR(step.weight * step.residual, -slopes[i] / 2, 1e-14) << i;
    EXPECT_NEAR(step.deviance, deviances[i], 1e-13) << i;
    EXPECT_EQ(family.deviance(y[i], mu[i], weights[i]), step.deviance) << i;
    EXPECT_EQ(family.working_weight(y[i], mu[i], weights[i]), step.weight) << i;
    likelihood += family.minus_two_log_likelihood(y[i], mu[i], weights[i], 1);
  }
  EXPECT_NEAR(likelihood, 33.74168397347103, 1e-12);
  EXPECT_NEAR(SaturatedSum(family, 1).add(0, y, weights, {}), 18.42759181146472, 1e-12);
  EXPECT_NEAR(family.constant_saturated(1).value(), 18.42759181146472 / 5.7, 1e-13);
  // The score does not vanish far from the quantile, where weights do.
  for (const double far : {-1e4, 1e4}) {
    const RowStep step = visit(family, [&](const auto& one) { return row_step(one, far, 0.0, 1); });
    EXPECT_NEAR(step.weight * step.residual, (far > 0 ? 0.8 : -0.2) * std::exp(0.4), 1e-14);
    EXPECT_TRUE(std::isfinite(step.residual));
  }
}

TEST(Family, QuantilesAsTheyAreWritten) {
  const Family family = chosen_family("ELF(0.9, co = 0.2, lsig = -1)");
  EXPECT_EQ(family.text(), "elf(qu=0.9, lsig=-1, err=0, co=0.2)");
  EXPECT_EQ(chosen_family(family.text()).text(), family.text());
  EXPECT_EQ(family.title(), "elf(qu=0.9)");
  EXPECT_TRUE(family.scale_is_known());
  EXPECT_FALSE(family.estimates_parameters());
  EXPECT_FALSE(family.may_be_correlated());
  EXPECT_TRUE(chosen_family("nb").may_be_correlated());
  const Family chosen = chosen_family("elf(qu = 0.9)");
  EXPECT_EQ(chosen.text(), "elf(qu=0.9, err=0, co=0)");
  EXPECT_EQ(chosen_family(chosen.text()).text(), chosen.text());
  for (const char* bad : {"elf", "elf(qu = 1)", "elf(qu = 0)", "elf(qu = c(0.1, 0.9, 0.95))",
                          "elf(0.5, co = -1)", "elf(0.5, err = 2)", "elf(0.5, lsig = 1e999)"})
    EXPECT_THROW((void)chosen_family(bad), Error) << bad;
  EXPECT_EQ(refusal("elf(qu = 1)"), "the family 'elf(qu = 1)': qu cannot be 1");
  EXPECT_NE(refusal("elf(0.5, link = log)").find("elf needs the link identity"), std::string::npos);
}

TEST(Family, ListsOfQuantilesAreFamiliesOfEach) {
  const std::vector<QuantileFamily> three =
      quantile_families("elf(c(0.9, 0.1, 0.5), err = 0.1, lsig = c(-1, -2, -3))");
  ASSERT_EQ(three.size(), 3U);
  EXPECT_EQ(three[0].qu, 0.1);
  EXPECT_EQ(chosen_family(three[0].text).text(), "elf(qu=0.1, lsig=-2, err=0.1, co=0)");
  EXPECT_EQ(chosen_family(three[2].text).text(), "elf(qu=0.9, lsig=-1, err=0.1, co=0)");
  for (const char* other :
       {"elf(0.5)", "elf(qu = 0.5, lsig = -1)", "scat(theta = c(5, 1))", "gaussian", "@own.toml"})
    EXPECT_TRUE(quantile_families(other).empty()) << other;
  EXPECT_EQ(refusal("elf"), "the family 'elf' lacks the quantile: write elf(qu=0.9)");
  EXPECT_EQ(refusal("elf(qu = c(0.1, 0.9))"),
            "the family 'elf(qu = c(0.1, 0.9))': a fit has only one quantile: fit each quantile separately");
}

// Dd, dev.resids, saturated.ll and predict of mgcv's ziP(theta = c(-0.4, 0.3), b = 0.2).
TEST(Family, ZeroInflatedCountsAreMgcvs) {
  const RowsOf rows{chosen_family("ziP(theta = c(-0.4, 0.3), b = 0.2)"),
                    {0, 0, 1, 1, 3, 40},
                    {-3, 1.2, -0.7, 0.9, 1.3, 3.5},
                    {1, 2, 0.5, 1.5, 0.7, 1}};
  expect_near_all(rows.terms(),
                  {16.368790469000867, 7.857238808164803, 13.948308940224408, 9.315770769697124,
                   14.708432002155069, 37.798254693149453},
                  1e-12);
  const std::vector<double> slopes{0.0198755408293474, 26.6899947071132821, -1.1121814246556094,
                                   4.1667093654080869, 0.9993953637785702,  -13.7690960826151070};
  const std::vector<double> curvatures{0.03102912466242866, 14.33672931400890960, 0.54341423787185772,
                                       9.57736485813921590, 5.29517582679842391,  66.23090391737595439};
  const std::vector<double> deviances{0.01282409773857592, 17.22092011004327361, 1.85457287539395410,
                                      4.61854452471768973, 2.15853598320882245,  6.87218334689941912};
  const std::vector<double> saturated{
      0, 0, 1.170770176038346, 3.512310528115038, 2.058569864574500, 5.530923100399917};
  const std::vector<double> means{0.006551963658407215, 3.398140761697740153, 0.257177808459560286,
                                  2.509511893732003340, 3.740595114416025879, 33.115451958692446510};
  const std::vector<double> errors{0.01028384561533408, 3.28524583565401684, 0.41373910154466087,
                                   2.68693435790323143, 3.57392480575025129, 33.11545195868802693};
  for (std::size_t i = 0; i < rows.y.size(); ++i) {
    const RowStep step = visit(
        rows.family, [&](const auto& one) { return row_step(one, rows.y[i], rows.mu[i], rows.weight[i]); });
    EXPECT_NEAR(step.weight, curvatures[i] / 2, 1e-13) << i;
    EXPECT_NEAR(step.residual, -slopes[i] / curvatures[i], 1e-13) << i;
    EXPECT_NEAR(step.deviance, deviances[i], 1e-13) << i;
    EXPECT_NEAR(rows.family.deviance(rows.y[i], rows.mu[i], rows.weight[i]), deviances[i] - saturated[i],
                1e-13)
        << i;
    EXPECT_NEAR(SaturatedSum(rows.family, 1).add(0, {&rows.y[i], 1}, {&rows.weight[i], 1}, {}), saturated[i],
                1e-13)
        << i;
    double mean = 0;
    double slope = 0;
    rows.family.respond({&rows.mu[i], 1}, {&mean, 1}, {&slope, 1});
    EXPECT_NEAR(mean, means[i], 1e-13) << i;
    EXPECT_NEAR(slope, errors[i], 1e-13) << i;
    EXPECT_EQ(rows.family.fitted(rows.mu[i]), mean) << i;
    EXPECT_EQ(rows.family.response_residual(rows.y[i], rows.mu[i]), rows.y[i] - mean) << i;
    EXPECT_EQ(std::signbit(rows.family.residual_side(rows.y[i], rows.mu[i])), rows.y[i] < mean) << i;
  }
  // In the tails a step has neither a number that is not finite nor a negative weight.
  for (const double gamma : {-800.0, -300.0, -40.0, 6.0, 6.6}) {
    for (const double y : {0.0, 1.0, 7.0}) {
      const RowStep step = visit(rows.family, [&](const auto& one) { return row_step(one, y, gamma, 1); });
      EXPECT_TRUE(std::isfinite(step.weight + step.residual + step.deviance)) << gamma << ' ' << y;
      EXPECT_GE(step.weight, 0) << gamma << ' ' << y;
    }
  }
}

TEST(Family, ZeroInflatedCountsAsRHasThem) {
  const Family family = chosen_family("ziP()");
  EXPECT_EQ(family.name(), "ziP");
  EXPECT_TRUE(family.estimates_parameters());
  EXPECT_EQ(family.parameter_names(), (std::vector<std::string>{"intercept", "slope", "b"}));
  EXPECT_EQ(family.text(), "ziP(b=0)");
  EXPECT_EQ(family.at({-0.6032, 0.95929, 0}).title(), "Zero inflated Poisson(-0.603,0.959)");
  EXPECT_EQ(family.outputs({}), (std::vector<std::string>{""}));
  EXPECT_EQ(chosen_family("zip(b = 0.5)").text(), "ziP(b=0.5)");
  const Family fixed = chosen_family("ziP(c(-1, 0), b = 0.5)");
  EXPECT_EQ(fixed.text(), "ziP(theta=c(-1, 0), b=0.5)");
  EXPECT_FALSE(fixed.estimates_parameters());
  EXPECT_EQ(std::vector(fixed.parameters().begin(), fixed.parameters().end()), (std::vector{-1.0, 1.5, 0.5}));
  EXPECT_TRUE(chosen_family("ziP(theta = NULL)").estimates_parameters());
  EXPECT_FALSE(fixed.at({-1, 0.5, 0.5}).parameters_are_valid());
  for (const double bad : {-1.0, 1.5})
    EXPECT_EQ(fixed.response_fault(bad), "must be a whole number of 0 or more");
  EXPECT_FALSE(fixed.response_fault(0));
  EXPECT_EQ(refusal("ziP(b = -1)"), "the family 'ziP(b = -1)': b cannot be -1");
  EXPECT_NE(refusal("ziP(log)").find("zip needs the link identity"), std::string::npos);
}

TEST(Family, DerivativesInTheParametersAreThoseOfTheLikelihood) {
  std::vector<RowsOf> all;
  const std::vector<double> counts{0, 1e-8, 0.3, 2.5, 700};
  const std::vector<double> means{0.02, 0.5, 0.3, 9, 400};
  const std::vector<double> weights{1, 0.5, 2, 1, 1.5};
  for (const double p : {1.02, 1.1, 1.4, 1.75, 1.97}) {
    for (const double phi : {1e-3, 0.1, 1.0, 30.0})
      all.push_back({chosen_family("tw").at({p, phi, 1.01, 1.99}), counts, means, weights});
  }
  for (const double nu : {3.01, 4.5, 30.0, 2000.0}) {
    for (const double sigma : {0.01, 1.0, 300.0})
      all.push_back({chosen_family("scat").at({nu, sigma, 3}), counts, means, weights});
  }
  for (const double phi : {0.1, 3.0, 50.0, 1e5})
    all.push_back({chosen_family("betar").at({phi, 1e-14}),
                   {0, 1e-6, 0.3, 0.99, 1},
                   {0.01, 0.2, 0.29, 0.9, 0.9999},
                   weights});
  for (const char* const steps : {"c(-1, -1, -1)", "c(-0.01, -2, -7)", "c(-3, -1e-4, -0.5)"}) {
    all.push_back({chosen_family(fmt::format("ocat(theta = {})", steps)),
                   {1, 2, 3, 4, 5},
                   {-2, 0.3, 4, 2, -1},
                   weights});
  }
  for (const char* const values : {"c(0, 0)", "c(-5, 2), b=0.3", "c(3, -4)"})
    all.push_back({chosen_family(fmt::format("ziP(theta = {})", values)).estimated(true),
                   {0, 1, 2, 40, 0},
                   {-6, -3, 1.5, 3.6, 0.7},
                   weights});
  const double step = 2e-5;
  for (const RowsOf& rows : all) {
    const std::vector<double> here = rows.terms();
    const std::size_t count = rows.family.parameter_count();
    std::size_t next = 1 + count;
    for (std::size_t i = 0; i < count; ++i) {
      const std::vector<double> above = rows.moved(i, step).terms();
      const std::vector<double> below = rows.moved(i, -step).terms();
      const double size = 1e-6 * (1 + std::abs(here[1 + i])) + 1e-10 * std::abs(here[0]);
      EXPECT_NEAR(here[1 + i], (above[0] - below[0]) / (2 * step), size) << rows.family.text() << i;
      for (std::size_t k = i; k < count; ++k, ++next)
        EXPECT_NEAR(here[next], (above[1 + k] - below[1 + k]) / (2 * step),
                    1e-6 * (1 + std::abs(here[next]) + std::abs(here[1 + k])))
            << rows.family.text() << i << k;
    }
  }
}

/// The series of the Tweedie density by definition: every term, in extended precision.
long double tweedie_sum(long double c, long double s) {
  const long double peak = std::exp(s);
  const auto distance = 12 * std::sqrt(peak / (1 + c)) + 200;
  const auto first = static_cast<std::int64_t>(std::max(1.0L, std::floor(peak - distance)));
  const auto last = static_cast<std::int64_t>(peak + distance);
  long double sum = 0;
  for (std::int64_t i = first; i <= last; ++i) {
    const auto j = static_cast<long double>(i);
    // log of J^(j (1 + c)) c^(c j) / (j! gamma(c j)), minus (1 + c) J.
    sum += std::exp(j * s + c * j * (s + std::log(c)) - std::lgamma(j + 1) - std::lgamma(c * j) -
                    (1 + c) * peak);
  }
  return std::log(sum);
}

TEST(Family, TweedieSeriesIsTheSumOfAllTerms) {
  for (const double c : {0.0102, 0.1, 0.6, 1.0, 3.0, 20.0, 98.0}) {
    for (const double peak : {1e-6, 0.02, 0.7, 2.4, 9.0, 19.9, 20.1, 41.0, 150.0, 3000.0, 1e5}) {
      const double s = std::log(peak);
      const auto expected = static_cast<double>(tweedie_sum(c, s));
      EXPECT_NEAR(tweedie_series(c, s).value, expected, 2e-14 * (20 + (1 + c) * peak / 50))
          << c << ' ' << peak;
    }
  }
}

// The series and Laplace's approximation agree at the transition from one to the other.
TEST(Family, TweedieSeriesGoesOverIntoLaplacesApproximation) {
  for (const double c : {0.0102, 0.3, 1.0, 7.0, 98.0}) {
    const double s = std::log(0.999 * laplace_from * (1 + 1 / c));
    const TweedieSeries sum = tweedie_series(c, s);
    const TweedieSeries limit = tweedie_by_laplace(c, s);
    EXPECT_NEAR(sum.value, limit.value, 1e-12) << c;
    EXPECT_NEAR(sum.by_s, limit.by_s, 1e-12) << c;
    EXPECT_NEAR(sum.by_c * c, limit.by_c * c, 1e-12) << c;
    EXPECT_NEAR(sum.by_cc * c * c, limit.by_cc * c * c, 1e-12) << c;
    EXPECT_NEAR(sum.by_cs * c, limit.by_cs * c, 2e-12) << c;
    EXPECT_NEAR(sum.by_ss, limit.by_ss, 2e-12) << c;
  }
}

TEST(Family, TweedieTakesAnyResponseAndMean) {
  for (const double p : {1.011, 1.5, 1.989}) {
    for (const double phi : {1e-12, 1.0, 1e12}) {
      for (const double y : {0.0, 1e-300, 1e-12, 1.0, 1e12, 1e100}) {
        for (const double mu : {1e-100, 2.3e-16, 1.0, 1e30}) {
          const RowsOf row{chosen_family("tw").at({p, phi, 1.01, 1.99}), {y}, {mu}, {1}};
          for (const double term : row.terms())
            EXPECT_TRUE(std::isfinite(term)) << p << ' ' << phi << ' ' << y << ' ' << mu;
          EXPECT_GE(row.family.deviance(y, mu, 1), 0);
        }
      }
    }
  }
  EXPECT_EQ(chosen_family("tw").deviance(3, 3, 1), 0);
  EXPECT_NEAR(chosen_family("tw(theta = 1.98)").deviance(3 + 3e-5, 3, 1) / (9e-10 * std::pow(3, -1.98)), 1,
              1e-5);
}

// R's quasi(variance=)$dev.resids.
TEST(Family, QuasiHasTheVariancesOfR) {
  struct Value {
    const char* variance;
    double of_three_tenths, deviance;
  };
  for (const Value& one :
       {Value{"constant", 1, 0.04}, Value{"mu", 0.3, 0.110825624}, Value{"mu^2", 0.09, 0.311682086},
        Value{"mu^3", 0.027, 0.88888889}, Value{"mu(1-mu)", 0.21, 0.174353387}}) {
    const Family family = chosen_family(std::string("quasi(variance = \"") + one.variance + "\")");
    visit(family, [&](const auto& quasi) {
      using F = std::decay_t<decltype(quasi)>;
      if constexpr (std::is_base_of_v<Quasi, F>) {
        EXPECT_NEAR(quasi.variance(0.3), one.of_three_tenths, 1e-15);
      }
    });
    EXPECT_NEAR(family.deviance(0.5, 0.3, 1), one.deviance, 1e-8) << one.variance;
    EXPECT_TRUE(std::isnan(family.minus_two_log_likelihood(0.5, 0.3, 1, 1)));
  }
  EXPECT_TRUE(std::isnan(chosen_family("quasi(variance = mu)").deviance(1, -0.1, 1)));
  EXPECT_TRUE(std::isnan(chosen_family("quasi(variance = \"mu(1-mu)\")").deviance(1, 1.1, 1)));
  EXPECT_EQ(chosen_family("quasi(log, mu)").response_fault(-1), "must not be negative");
  EXPECT_EQ(chosen_family("quasi(log, mu^3)").response_fault(0), "must be greater than 0");
  EXPECT_FALSE(chosen_family("quasi(log, mu^2)").response_fault(0));
  EXPECT_EQ(chosen_family("quasi(variance = \"mu(1-mu)\")").limits().upper, 1);
  EXPECT_FALSE(chosen_family("quasi").limits().any());
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
  EXPECT_EQ(chosen_family("nb").response_fault(-1), "must not be negative");
  EXPECT_FALSE(chosen_family("nb").response_fault(2.5));
}

TEST(Family, LinkUndoesItsInverse) {
  for (const Family& one : built_in_families()) {
    for (const std::string_view link : one.link_names()) {
      const Family family = one.linked(link).value();
      EXPECT_EQ(family.link_name(), link);
      if (family.name() == "ziP") continue;  // its "mean" is the linear predictor
      EXPECT_EQ(family.linear(), family.text() == "gaussian");
      for (double eta : {-3.0, -0.2, 0.01, 1.7}) {
        if (link == "sqrt" || link == "1/mu^2") eta = std::abs(eta);
        EXPECT_NEAR(family.predictor(family.mean(eta)).value(), eta, 1e-14) << family.text();
        const double step = 1e-6 * std::abs(eta);
        const double slope = (family.mean(eta + step) - family.mean(eta - step)) / (2 * step);
        EXPECT_NEAR(family.derivative(eta), slope, 1e-8 * (1 + std::abs(slope))) << family.text();
      }
    }
  }
}

// A step to such a predictor is then halved, as with R's validmu.
TEST(Family, HasNoDevianceWhereAMeanIsNoneOfIts) {
  EXPECT_TRUE(std::isnan(chosen_family("poisson(identity)").deviance(0, -0.5, 1)));
  EXPECT_TRUE(std::isnan(chosen_family("nb(link = identity)").deviance(0, -0.5, 1)));
  EXPECT_TRUE(std::isnan(chosen_family("binomial(log)").deviance(1, 1.5, 1)));
  EXPECT_TRUE(std::isnan(chosen_family("inverse.gaussian(identity)").deviance(1, -0.5, 1)));
  EXPECT_EQ(chosen_family("binomial(log)").deviance(1, 0.5, 1), Family(Binomial{}).deviance(1, 0.5, 1));
}

// R's binomial(link)$linkinv and mu.eta, and qnorm.
TEST(Family, LinksAreThoseOfR) {
  struct Value {
    const char* family;
    double eta, mean, derivative;
  };
  for (const Value& one : {Value{"binomial(probit)", -9, 2.2204460492503284e-16, 2.2204460492503131e-16},
                           Value{"binomial(probit)", -2.5, 0.0062096653257761349, 0.01752830049356854},
                           Value{"binomial(probit)", 0.3, 0.61791142218895267, 0.38138781546052414},
                           Value{"binomial(cloglog)", -40, 2.2204460492503131e-16, 2.2204460492503131e-16},
                           Value{"binomial(cloglog)", -1.5, 0.19998928699564639, 0.17850651851312094},
                           Value{"binomial(cloglog)", 2, 0.99938202101066886, 0.0045662814201279153},
                           Value{"binomial(cloglog)", 4, 0.99999999999999978, 2.2204460492503131e-16},
                           Value{"inverse.gaussian", 0.3, 1.8257418583505536, -3.0429030972509228},
                           Value{"inverse.gaussian(inverse)", 0.3, 3.3333333333333335, -11.111111111111111},
                           Value{"nb(theta = 3, link = sqrt)", 0.3, 0.09, 0.6},
                           Value{"binomial(cauchit)", -1e20, 2.2204460492503131e-16, 2.2204460492503131e-16},
                           Value{"binomial(cauchit)", -50, 0.0063653491009727971, 0.00012727304525541412},
                           Value{"binomial(cauchit)", 3, 0.89758361765043326, 0.031830988618379068}}) {
    const Family family = chosen_family(one.family);
    EXPECT_EQ(chosen_family(family.text()).text(), family.text());
    EXPECT_NEAR(family.mean(one.eta) / one.mean, 1, 1e-14) << one.family << ' ' << one.eta;
    EXPECT_NEAR(family.derivative(one.eta) / one.derivative, 1, 1e-14) << one.family << ' ' << one.eta;
  }
  EXPECT_NEAR(chosen_family("binomial(probit)").predictor(1e-10).value(), -6.3613409024040557, 1e-14);
}

// Cached values for one response serve others: repeated counts, and series of responses of any size.
TEST(Family, SaturatedSumIsThatOfTheRows) {
  for (const char* text :
       {"tw(theta=1.4)", "Tweedie(1.6)", "Tweedie(2)", "nb(theta=3)", "poisson", "inverse.gaussian"}) {
    const Family family = chosen_family(text);
    std::vector<double> responses;
    std::vector<double> weights;
    for (int i = 0; i < 400; ++i) {
      const double counted = i % 7 + (text[0] == 'T' || text[0] == 'i' ? 1 : 0);
      responses.push_back(text[0] == 't' || text[0] == 'T' ? counted * std::pow(1.1, i % 90 - 45) : counted);
      weights.push_back(0.5 + i % 3);
    }
    for (const bool weighted : {false, true}) {
      double sum = 0;
      double largest = 0;
      for (std::size_t i = 0; i < responses.size(); ++i) {
        const double weight = weighted ? weights[i] : 1;
        const double y = responses[i];
        const double row =
            family.minus_two_log_likelihood(y, y, weight, 1.3) - family.deviance(y, y, weight) / 1.3;
        sum += row;
        largest += std::abs(row);
      }
      SaturatedSum of_rows(family, 1.3);
      const auto weight_of_rows = weighted ? std::span<const double>(weights) : std::span<const double>();
      EXPECT_NEAR(of_rows.add(0, responses, weight_of_rows, {}), sum, 1e-13 * largest) << text << weighted;
      EXPECT_NEAR(of_rows.add(1, responses, weight_of_rows, {}), sum + 1, 1e-13 * largest)
          << text << weighted;
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
}  // namespace TESSERA_NAMESPACE::gam

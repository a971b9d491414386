// SPDX-License-Identifier: Apache-2.0
// Derivatives of the log likelihoods of families with several linear predictors, against differences in 100
// digits.
#include "gam/family/several_family.hpp"
#include "base/philox.hpp"
#include "gam/family/family.hpp"
#include "gam/family/location_scale.hpp"

#include "support/errors.hpp"

#include <tessera/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <random>
#include <string>
#include <vector>

// The functions of location_scale.hpp in many digits, where they are found by their argument.
namespace boost::multiprecision {

using Hundred = number<cpp_bin_float<100>, et_off>;
using Fifty = number<cpp_bin_float<50>, et_off>;

static Hundred softplus(const Hundred& x) {
  return log1p(exp(x));
}
static Hundred logistic(const Hundred& x) {
  return 1 / (1 + exp(-x));
}
static Hundred log_cloglog(const Hundred& x) {
  return log(-expm1(-exp(x)));
}
static Hundred log_cosh(const Hundred& x) {
  return log(cosh(x));
}
static Hundred log1p_over(const Hundred& x) {
  return x == 0 ? Hundred(1) : Hundred(log1p(x) / x);
}
static Hundred choose(bool where, const Hundred& a, const Hundred& b) {
  return where ? a : b;
}
static Hundred log_gamma_of(const Hundred& x) {
  return boost::math::lgamma(x);
}

static Fifty choose(bool where, const Fifty& a, const Fifty& b) {
  return where ? a : b;
}
static Fifty logistic(const Fifty& x) {
  return 1 / (1 + exp(-x));
}
static Fifty tweedie_misfit(double y, const Fifty& log_mean, const Fifty& p) {
  const Fifty b = 2 - p;
  if (y == 0) return exp(b * log_mean) / b;
  const Fifty log_y = log(Fifty(y));
  return y * (exp((1 - p) * log_y) - exp((1 - p) * log_mean)) / (1 - p) -
         (exp(b * log_y) - exp(b * log_mean)) / b;
}
/// The series by its definition; where there are many terms, which only so many of them determine.
static Fifty tweedie_log_series(const Fifty& c, const Fifty& s) {
  const Fifty peak = exp(s);
  const Fifty wide = sqrt(peak / (1 + c)) / Fifty(2.3);
  const bool every = wide < 1 || (1 + c) * peak < 120;
  const Fifty step = every ? Fifty(1) : wide;
  const Fifty begin = !every ? peak : peak > 1 ? Fifty(round(peak)) : Fifty(1);
  const auto term = [&](const Fifty& j) {
    return Fifty(j * s + c * j * (s + log(c)) - boost::math::lgamma(j + 1) - boost::math::lgamma(c * j) -
                 (1 + c) * peak);
  };
  const Fifty most = term(begin);
  Fifty sum = 1;
  for (const int side : {-1, 1}) {
    for (Fifty j = begin + side * step; j > 0; j += side * step) {
      const Fifty one = exp(term(j) - most);
      sum += one;
      if (one < sum * Fifty("1e-45")) break;
    }
  }
  return most + log(sum * step);
}

}  // namespace boost::multiprecision

namespace TESSERA_NAMESPACE::gam {
namespace {

using boost::multiprecision::Fifty;
using boost::multiprecision::Hundred;

/// A row of a family: the response and the predictors.
struct SeveralRow {
  double y;
  std::vector<double> eta;
};

/// Compares the derivatives of a row. The accuracy of each kind is relative to the largest of its kind, and
/// that of the value to 1, since terms may cancel; second derivatives tell how much a predictor's rounding
/// changes the others.
template <class Exact, class F>
void expect_derivatives(const F& family, const SeveralRow& row) {
  constexpr int predictors = F::predictors;
  Jet<predictors> at[predictors];
  Exact exact[predictors];
  for (int p = 0; p < predictors; ++p) {
    at[p] = Jet<predictors>::variable(row.eta[static_cast<std::size_t>(p)], p);
    exact[p] = row.eta[static_cast<std::size_t>(p)];
  }
  const Jet<predictors> found = family.log_likelihood(row.y, at);
  const auto value = [&] { return family.log_likelihood(row.y, exact); };
  const Exact step = pow(Exact(10), -std::numeric_limits<Exact>::digits10 * 3 / 10);
  const auto moved = [&](int i, int j, int by_i, int by_j) {
    const Exact before_i = exact[i];
    const Exact before_j = exact[j];
    exact[i] += by_i * step;
    exact[j] += by_j * step;
    const Exact out = value();
    exact[i] = before_i;
    exact[j] = before_j;
    return out;
  };
  std::vector<double> first;
  std::vector<double> second;
  for (int i = 0; i < predictors; ++i) {
    first.push_back(static_cast<double>((moved(i, i, 1, 0) - moved(i, i, -1, 0)) / (2 * step)));
    for (int j = i; j < predictors; ++j) {
      const Exact difference =
          i == j ? Exact((moved(i, i, 1, 0) - 2 * value() + moved(i, i, -1, 0)) / (step * step))
                 : Exact((moved(i, j, 1, 1) - moved(i, j, 1, -1) - moved(i, j, -1, 1) + moved(i, j, -1, -1)) /
                         (4 * step * step));
      second.push_back(static_cast<double>(difference));
    }
  }
  const auto size_of = [](const std::vector<double>& all) {
    double most = 1;
    for (const double one : all) most = std::max(most, std::abs(one));
    return most;
  };
  constexpr double accuracy = 1e-12;
  const double rounding = 1e-15 * size_of(second);
  const double exact_value = static_cast<double>(value());
  EXPECT_NEAR(found.value, exact_value, accuracy * (1 + std::abs(exact_value)) + rounding);
  for (std::size_t i = 0; i < first.size(); ++i)
    EXPECT_NEAR(found.first[i], first[i], accuracy * size_of(first) + rounding);
  for (std::size_t k = 0; k < second.size(); ++k)
    EXPECT_NEAR(found.second[k], second[k], accuracy * std::max(size_of(first), size_of(second)));
}

/// Compares random rows whose log likelihood is finite, of which there must be most.
template <class Exact = Hundred, class F, class Draw>
void expect_derivatives_of(const F& family, const Draw& draw, int rows = 150) {
  std::mt19937_64 random(17);
  int compared = 0;
  for (int i = 0; i < rows; ++i) {
    const SeveralRow row = draw(random);
    SCOPED_TRACE(fmt::format("{}: y {}, eta {}", F::name, row.y, fmt::join(row.eta, " ")));
    if (!std::isfinite(family.log_likelihood(row.y, row.eta.data()))) continue;
    ++compared;
    expect_derivatives<Exact>(family, row);
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(compared, rows / 2);
}

double normal(std::mt19937_64& random, double mean, double deviation) {
  return std::normal_distribution<double>(mean, deviation)(random);
}

TEST(SeveralFamily, DerivativesAreExactOfNormalResponses) {
  for (const double b : {0.01, 0.0, 0.5})
    expect_derivatives_of(Gaulss{b}, [](auto& random) {
      return SeveralRow{normal(random, 0, 5), {normal(random, 0, 2), normal(random, -1, 3)}};
    });
}

TEST(SeveralFamily, DerivativesAreExactOfGammaResponses) {
  expect_derivatives_of(Gammals{{-7}}, [](auto& random) {
    return SeveralRow{std::exp(normal(random, 0, 2)), {normal(random, 0, 2), normal(random, 6, 4)}};
  });
}

TEST(SeveralFamily, DerivativesAreExactOfGumbelResponses) {
  expect_derivatives_of(Gumbls{{-7}}, [](auto& random) {
    return SeveralRow{normal(random, 0, 3), {normal(random, 0, 1), normal(random, 7, 1)}};
  });
}

TEST(SeveralFamily, DerivativesAreExactOfExtremeValues) {
  // Shapes of many signs, and some next to 0, where the distribution is Gumbel's.
  expect_derivatives_of(Gevlss{}, [](auto& random) {
    const double near_zero = std::log(2.0) + std::exp(normal(random, -12, 6));
    const double shape = random() % 2 == 0 ? near_zero : normal(random, 0.5, 1);
    return SeveralRow{normal(random, 0, 1), {normal(random, 0, 0.5), normal(random, 0.5, 0.5), shape}};
  });
}

TEST(SeveralFamily, DerivativesAreExactOfSkewedResponses) {
  expect_derivatives_of(Shash{0.01}, [](auto& random) {
    return SeveralRow{
        normal(random, 0, 3),
        {normal(random, 0, 1), normal(random, 0, 1), normal(random, 0, 1), normal(random, 0, 0.5)}};
  });
}

TEST(SeveralFamily, DerivativesAreExactOfCountsWithManyZeros) {
  // Predictors of +-30 too.
  expect_derivatives_of(Ziplss{}, [](auto& random) {
    const double y = static_cast<double>(random() % 4 == 0 ? 0 : random() % 30);
    return SeveralRow{y, {normal(random, 0, 3), random() % 8 == 0 ? -30.0 : normal(random, 0, 2)}};
  });
}

/// The family of a call with these links.
template <class F>
F with_links(F family, std::vector<Link> links) {
  std::ranges::copy(links, family.chosen);
  return family;
}

TEST(SeveralFamily, DerivativesAreExactOfTweedieResponses) {
  // Zeros, responses near and far from the mean and from 1, p next to its bounds, and any number of terms.
  const auto draw = [](auto& random) {
    const double log_mean = normal(random, 0, random() % 4 == 0 ? 30 : 2);
    const double p = normal(random, 0, 5);
    const double log_phi = normal(random, random() % 4 == 0 ? -6 : 0, 2);
    const double share = 1 / (1 + std::exp(-p));
    const double deviation = std::exp(0.5 * (log_phi + (share - 0.99) * log_mean));  // relative to the mean
    const double away =
        random() % 8 == 0 ? normal(random, 0, 20) : normal(random, 0, std::min(deviation, 3.0));
    return SeveralRow{random() % 6 == 0 ? 0.0 : std::exp(log_mean + away), {log_mean, p, log_phi}};
  };
  expect_derivatives_of<Fifty>(Twlss{1.01, 1.99}, draw, 40);
  for (const Link mean : {Link::identity, Link::sqrt}) {
    const auto near_one = [&](auto& random) {
      SeveralRow row = draw(random);
      const double unit = std::exp(0.9 * row.eta[0]);
      return SeveralRow{row.y / unit, {std::exp(row.eta[0]) / unit, row.eta[1], row.eta[2]}};
    };
    expect_derivatives_of<Fifty>(with_links(Twlss{1.2, 1.6}, {mean}), near_one, 10);
  }
}

TEST(SeveralFamily, DerivativesAreExactUnderOtherLinks) {
  for (const Link mean : {Link::log, Link::inverse, Link::sqrt})
    expect_derivatives_of(with_links(Gaulss{0.01}, {mean}), [](auto& random) {
      return SeveralRow{normal(random, 0, 5), {normal(random, 0, 2), normal(random, -1, 3)}};
    });
  expect_derivatives_of(with_links(Gammals{}, {Link::identity}), [](auto& random) {
    return SeveralRow{std::exp(normal(random, 0, 2)), {normal(random, 0, 2), normal(random, 0, 2)}};
  });
  expect_derivatives_of(with_links(Gumbls{}, {Link::identity}), [](auto& random) {
    return SeveralRow{normal(random, 0, 3), {normal(random, 0, 1), normal(random, 0, 1)}};
  });
  expect_derivatives_of(with_links(Gevlss{}, {Link::log, Link::identity}), [](auto& random) {
    return SeveralRow{normal(random, 1, 1),
                      {normal(random, 0, 0.5), normal(random, 0.5, 0.5), normal(random, 0, 0.3)}};
  });
}

std::shared_ptr<const SeveralFamily> family_of_text(const char* text) {
  const Family family = chosen_family(text);
  return {std::make_shared<Family>(family), family.several()};
}

TEST(SeveralFamily, LinksAreThoseOfTheCall) {
  EXPECT_EQ(chosen_family("gaulss(link = list('log', 'logb'), b = 0.02)").text(),
            "gaulss(link=list(\"log\", \"logb\"), b=0.02)");
  EXPECT_EQ(chosen_family("gaulss(list('identity', 'logb'))").text(), "gaulss");
  EXPECT_EQ(chosen_family("gevlss(link=c(\"log\",\"identity\",\"identity\"))").link_name(),
            "log identity identity");
  EXPECT_EQ(chosen_family("gammals(link=list('identity','identity'))").link_name(), "identity identity");
  EXPECT_EQ(chosen_family("twlss(link = list('sqrt', 'identity', 'identity'), b = 1.9)").text(),
            "twlss(link=list(\"sqrt\", \"identity\", \"identity\"), b=1.9)");
  EXPECT_EQ(chosen_family("twlss(1.2, 1.8)").text(), "twlss(a=1.2, b=1.8)");
  EXPECT_EQ(parse_family(chosen_family("gumbls(link=list(identity, identity), b=-6)").text()).value().text(),
            "gumbls(link=list(\"identity\", \"identity\"), b=-6)");
  for (const char* const bad : {"gaulss(link=list('probit', 'logb'))", "gaulss(link=list('log', 'log'))",
                                "gaulss(link='log')", "gaulss(link=list('log', 'logb', 'log'))"})
    EXPECT_EQ(
        error_of(ErrorCode::usage, [&] { static_cast<void>(chosen_family(bad)); }),
        "gaulss: the links of its linear predictors are identity, inverse, log or sqrt, then logb: write "
        "gaulss(link=list(\"identity\", \"logb\"))")
        << bad;
}

/// The slope of a distribution's quantiles is 1 over its density there.
TEST(SeveralFamily, QuantilesBelongToTheDensities) {
  struct Case {
    const char* family;
    std::vector<double> eta;
    double penalty;  ///< of the log likelihood
  };
  for (const auto& [name, eta, penalty] :
       {Case{"gaulss", {1, -0.5}, 0}, Case{"gammals", {0.5, 6.3}, 0}, Case{"gumbls", {0.5, 6.8}, 0},
        Case{"gevlss", {0.5, 0.3, 1.2}, 0}, Case{"gevlss", {0.5, 0.3, 0.1}, 0},
        Case{"shash", {0.5, 0.2, 0.4, -0.3}, 1e-3 * 0.09},
        Case{"gaulss(link=list('sqrt','logb'))", {1.3, -0.5}, 0},
        Case{"gammals(link=list('identity','identity'))", {0.5, -0.7}, 0},
        Case{"gumbls(link=list('identity','identity'))", {0.5, -0.2}, 0},
        Case{"gevlss(link=list('log','identity','identity'))", {0.5, 0.3, 0.1}, 0}}) {
    const auto family = family_of_text(name);
    for (const double p : {0.01, 0.3, 0.5, 0.9, 0.999}) {
      SCOPED_TRACE(fmt::format("{} {}", name, p));
      const double step = 1e-5 * std::min(p, 1 - p);
      const double y = family->quantile(p, eta);
      const double slope = (family->quantile(p + step, eta) - family->quantile(p - step, eta)) / (2 * step);
      double log_density = 0;
      const double one = 1;
      family->evaluate({.count = 1,
                        .stride = 1,
                        .response = &y,
                        .prior = &one,
                        .eta = eta.data(),
                        .log_likelihood = &log_density});
      EXPECT_NEAR(slope * std::exp(log_density + penalty), 1, 1e-6);
    }
  }
  const auto counts = several_family("ziplss", {});
  const std::vector<double> eta{0.7, -0.2};
  double up_to = 0;
  for (int k = 0; k < 8; ++k) {
    const double y = k;
    const double one = 1;
    double log_density = 0;
    counts->evaluate({.count = 1,
                      .stride = 1,
                      .response = &y,
                      .prior = &one,
                      .eta = eta.data(),
                      .log_likelihood = &log_density});
    const double below = up_to;
    up_to += std::exp(log_density);
    EXPECT_EQ(counts->quantile(below + 0.01 * (up_to - below), eta), k);
    EXPECT_EQ(counts->quantile(below + 0.99 * (up_to - below), eta), k);
  }
}

TEST(SeveralFamily, HaveTheMomentsAndProbabilitiesOfTheirQuantiles) {
  struct Case {
    const char* family;
    std::vector<double> eta;
  };
  for (const auto& [name, eta] :
       {Case{"gaulss", {1.2, -0.3}}, Case{"gammals", {0.4, 6.1}}, Case{"gumbls", {0.4, 6.5}},
        Case{"gevlss", {1, -0.5, 0.9}}, Case{"gevlss", {1, -0.5, std::log(2)}}, Case{"gevlss", {1, 0.2, 0.1}},
        Case{"shash", {0.3, -1, 0.4, 0.1}}, Case{"shash", {0.3, -1, -0.2, -0.3}}, Case{"ziplss", {0.7, -0.2}},
        Case{"ziplss", {-3, 1}}, Case{"multinom", {0.4}},
        Case{"gaulss(link=list('inverse','logb'))", {1.2, -0.3}},
        Case{"gammals(link=list('identity','identity'))", {0.4, -0.9}},
        Case{"gumbls(link=list('identity','identity'))", {0.4, -0.5}},
        Case{"gevlss(link=list('log','identity','identity'))", {1, -0.5, 0.2}}}) {
    const auto family = family_of_text(name);
    SCOPED_TRACE(fmt::format("{} at {}", name, fmt::join(eta, ", ")));
    constexpr int count = 400000;
    double sum = 0;
    double square = 0;
    for (int i = 0; i < count; ++i) {
      const double p = (i + 0.5) / count;
      const double y = family->quantile(p, eta);
      sum += y;
      square += y * y;
      if (i % 1000 != 0) continue;
      const ResponseProbabilities found = family->probabilities(y, eta);
      EXPECT_LE(found.below, p + 1e-9);
      EXPECT_GE(found.up_to, p - 1e-9);
      const bool whole = family->classes() > 0 || std::string_view(name) == "ziplss";
      EXPECT_EQ(found.below < found.up_to, whole);
      if (!whole) EXPECT_NEAR(found.up_to, p, 1e-9);
    }
    if (family->classes() > 0) continue;
    const ResponseLevel level = family->level(eta);
    EXPECT_NEAR(level.mean, sum / count, 1e-3 * level.deviation);
    EXPECT_NEAR(level.deviation / std::sqrt(square / count - sum / count * (sum / count)), 1, 3e-3);
  }
  const auto extremes = several_family("gevlss", {});
  const std::vector<double> bounded_above{0, 0, -2};
  EXPECT_EQ(extremes->probabilities(100, bounded_above).up_to, 1);
  const std::vector<double> bounded_below{0, 0, 2};
  EXPECT_EQ(extremes->probabilities(-100, bounded_below).up_to, 0);
  const auto classes = several_family("multinom", {});
  const std::vector<double> odds{std::log(3)};
  EXPECT_NEAR(classes->probabilities(0, odds).up_to, 0.25, 1e-15);
  EXPECT_EQ(classes->probabilities(1, odds).below, classes->probabilities(0, odds).up_to);
}

TEST(SeveralFamily, ATweedieResponseMayBeZero) {
  const auto family = family_of_text("twlss(a=1.2, b=1.8)");
  const std::vector<double> eta{0.4, 0.7, -0.5};
  const double p = 1.2 + 0.6 / (1 + std::exp(-0.7));
  const double rest = 2 - p;
  const double zero = std::exp(-std::exp(rest * 0.4 + 0.5) / rest);
  EXPECT_EQ(family->probabilities(0, eta).below, 0);
  EXPECT_NEAR(family->probabilities(0, eta).up_to, zero, 1e-14);
  EXPECT_EQ(family->quantile(0.99 * zero, eta), 0);
  EXPECT_GT(family->quantile(1.01 * zero, eta), 0);
  // With a small phi there are millions of terms.
  for (const double log_phi : {-0.5, -14.0}) {
    const std::vector<double> at{0.4, 0.7, log_phi};
    for (const double share : {0.3, 0.5, 0.9, 0.999}) {
      const double y = family->quantile(share, at);
      EXPECT_NEAR(family->probabilities(y, at).up_to, share, 1e-9);
      const double step = 1e-5 * y * std::exp(log_phi / 2);
      const double density =
          (family->probabilities(y + step, at).up_to - family->probabilities(y - step, at).up_to) /
          (2 * step);
      const double one = 1;
      double log_density = 0;
      family->evaluate({.count = 1,
                        .stride = 1,
                        .response = &y,
                        .prior = &one,
                        .eta = at.data(),
                        .log_likelihood = &log_density});
      EXPECT_NEAR(density * std::exp(-log_density), 1, 1e-6);
    }
  }
  const ResponseLevel level = family->level(eta);
  EXPECT_NEAR(level.mean, std::exp(0.4), 1e-14);
  EXPECT_NEAR(level.deviation, std::exp((-0.5 + p * 0.4) / 2), 1e-14);
  constexpr int draws = 100000;
  double sum = 0;
  double square = 0;
  int zeros = 0;
  for (int i = 0; i < draws; ++i) {
    base::RandomPlace random(1, static_cast<std::uint64_t>(i), 0);
    const double y = family->draw(eta, random);
    sum += y;
    square += y * y;
    zeros += y == 0 ? 1 : 0;
  }
  constexpr double within = 0.015;  // four standard errors
  EXPECT_NEAR(sum / draws / level.mean, 1, within);
  EXPECT_NEAR(std::sqrt(square / draws - sum / draws * sum / draws) / level.deviation, 1, within);
  EXPECT_NEAR(static_cast<double>(zeros) / draws, zero, within * zero + 0.002);
}

TEST(SeveralFamily, DerivativesAreThoseOfDifferencesOfClasses) {
  const SeveralArgument classes{"K", {3}};
  const auto family = several_family("multinom", {&classes, 1});
  ASSERT_NE(family, nullptr);
  const auto at = [&](double y, std::vector<double> eta, std::vector<double>* gradient,
                      std::vector<double>* weights) {
    double value = 0;
    const double prior = 2;
    family->evaluate({.count = 1,
                      .stride = 1,
                      .response = &y,
                      .prior = &prior,
                      .eta = eta.data(),
                      .log_likelihood = &value,
                      .gradient = gradient == nullptr ? nullptr : gradient->data(),
                      .weights = weights == nullptr ? nullptr : weights->data()});
    return value;
  };
  const std::vector<double> eta{0.3, -1.2, 2.1};
  constexpr double step = 1e-5;
  for (const double y : {0.0, 1.0, 3.0}) {
    std::vector<double> gradient(3);
    std::vector<double> weights(6);
    (void)at(y, eta, &gradient, &weights);
    std::size_t k = 0;
    for (std::size_t p = 0; p < 3; ++p) {
      std::vector<double> more = eta;
      std::vector<double> less = eta;
      more[p] += step;
      less[p] -= step;
      EXPECT_NEAR((at(y, more, nullptr, nullptr) - at(y, less, nullptr, nullptr)) / (2 * step), gradient[p],
                  1e-9);
      std::vector<double> at_more(3);
      std::vector<double> at_less(3);
      std::vector<double> unused(6);
      (void)at(y, more, &at_more, &unused);
      (void)at(y, less, &at_less, &unused);
      for (std::size_t q = p; q < 3; ++q, ++k)
        EXPECT_NEAR(-(at_more[q] - at_less[q]) / (2 * step), weights[k], 1e-9);
    }
  }
}

TEST(SeveralFamily, ClassesHaveProbabilitiesThatAddUpAndJacobiansThatDoNot) {
  const SeveralArgument classes{"", {2}};
  const auto family = several_family("multinom", {&classes, 1});
  const std::vector<double> eta{800, -800};  // beyond the range of exp
  std::vector<double> shares(3);
  std::vector<double> jacobian(6);
  family->respond(eta, shares, jacobian);
  EXPECT_EQ(shares, (std::vector<double>{0, 1, 0}));
  for (const double one : jacobian) EXPECT_TRUE(std::isfinite(one));
  EXPECT_EQ(family->outputs({}), (std::vector<std::string>{".0", ".1", ".2"}));
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
// Likelihoods of censored responses and their derivatives, tails included, against differences in 100 digits.
#include "gam/family/family.hpp"
#include "gam/family/list.hpp"
#include "gam/family/row_step.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <boost/math/special_functions/erf.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

using Hundred =
    boost::multiprecision::number<boost::multiprecision::cpp_bin_float<100>, boost::multiprecision::et_off>;

constexpr double infinity = std::numeric_limits<double>::infinity();

Hundred half_erfc(const Hundred& x) {
  return boost::math::erfc(x / sqrt(Hundred(2))) / 2;
}
/// log(F(b) - F(a)), or the log density at a = b; from below and above, as digits of 1 would be lost.
Hundred normal(const Hundred& a, const Hundred& b, bool low, bool high, bool point) {
  if (point) return -a * a / 2 - log(boost::math::constants::two_pi<Hundred>()) / 2;
  const Hundred below = low ? half_erfc(-a) : Hundred(0);
  const Hundred above = high ? half_erfc(b) : Hundred(0);
  if (low && a > 0) return log(half_erfc(a) - above);
  if (high && b < 0) return log(half_erfc(-b) - below);
  return log1p(-below - above);
}
Hundred logistic(const Hundred& a, const Hundred& b, bool low, bool high, bool point) {
  if (point) return -a - 2 * log1p(exp(-a));
  const Hundred above = high ? -log1p(exp(-b)) : Hundred(0);
  const Hundred below = low ? -log1p(exp(a)) : Hundred(0);
  return above + below + (low && high ? log1p(-exp(a - b)) : Hundred(0));
}
/// log P(y) of a location and scale; `error` is one of the two above.
template <class Error>
Hundred likelihood(const Error& error, Response y, const Hundred& mu, const Hundred& log_scale) {
  const Hundred scale = exp(log_scale);
  const bool low = y.lower() > -infinity;
  const bool high = y.upper() < infinity;
  const Hundred at =
      error((low ? Hundred(y.lower()) - mu : Hundred(0)) / scale,
            (high ? Hundred(y.upper()) - mu : Hundred(0)) / scale, low, high, !y.is_censored());
  return y.is_censored() ? at : Hundred(at - log_scale);
}

/// A number between 10^-places and 10^places, of either sign.
double any_size(std::mt19937_64& random, double places) {
  std::uniform_real_distribution<double> unit(-1, 1);
  return std::copysign(std::pow(10, places * unit(random)), unit(random));
}

void expect_near(double found, const Hundred& expected, double largest_term, const std::string& what) {
  const auto error = static_cast<double>(abs(Hundred(found) - expected));
  EXPECT_LE(error, 1e-12 * std::abs(static_cast<double>(expected)) + 1e-15 * largest_term)
      << what << ": " << found << " is not " << static_cast<double>(expected);
}

template <class F, class Error>
void expect_derivatives(const Error& error, double tail) {
  std::mt19937_64 random(53);
  for (int i = 0; i < 150; ++i) {
    const double sigma = std::abs(any_size(random, 1));
    const double weight = i % 3 == 0 ? 1 : std::abs(any_size(random, 0.5));
    const double unit = sigma / std::sqrt(weight);
    const double mu = any_size(random, 1);
    double first = mu + unit * any_size(random, 2);
    const double width = unit * any_size(random, 3);
    const int kind = i % 4;
    // Nearly sure limits leave no digits to the differences.
    if (kind == 2 && (first - mu) / unit > tail) first = mu + unit * tail;
    if (kind == 3 && (mu - first) / unit > tail) first = mu - unit * tail;
    const Response y = kind == 0   ? Response(first)
                       : kind == 1 ? Response(first, first + width)
                       : kind == 2 ? Response(first, -infinity)
                                   : Response(first, infinity);
    if (kind == 1 && (mu - y.lower()) / unit > tail && (y.upper() - mu) / unit > tail) continue;
    const std::string what = fmt::format("{} {:.17g} {:.17g} mu {:.17g} sigma {:.17g} weight {:.17g}",
                                         F::name, y.value, y.limit, mu, sigma, weight);
    const Hundred h("1e-20");
    const Hundred theta = log(Hundred(sigma)) - log(Hundred(weight)) / 2;
    const auto at = [&](const Hundred& by_mu, const Hundred& by_theta) {
      return likelihood(error, y, Hundred(mu) + by_mu, theta + by_theta);
    };
    const Hundred here = at(0, 0);
    const Hundred step = h * unit;
    const Hundred score = (at(step, 0) - at(-step, 0)) / (2 * step);
    const Hundred information = (2 * here - at(step, 0) - at(-step, 0)) / (step * step);
    const F family(&sigma);
    const RowStep found = row_step(family, y, mu, weight);
    const double z = (std::abs(y.value - mu)) / unit;
    expect_near(family.minus_two_log_likelihood(y, mu, weight, 1), -2 * here, 2, what + " log");
    expect_near(found.weight, information, 0, what + " information");
    expect_near(found.weight * found.residual, score, (kind == 1 ? 1 / unit : 0), what + " score");
    std::array<double, 3> terms{};
    family.weighted_terms(y, mu, weight, terms.data());
    expect_near(terms[1], -(at(0, h) - at(0, -h)) / (2 * h), 2 + z, what + " by scale");
    expect_near(terms[2], (2 * here - at(0, h) - at(0, -h)) / (h * h), 2 + z * z, what + " by scale twice");
  }
}

TEST(Censored, NormalDerivativesAreThoseOfTheLikelihood) {
  expect_derivatives<Cnorm>(normal, 9);
}

TEST(Censored, LogisticDerivativesAreThoseOfTheLikelihood) {
  expect_derivatives<Clog>(logistic, 1e4);
}

/// log P of the counts between the limits, summed one by one.
Hundred log_of_counts(Response y, const Hundred& log_mean) {
  const Hundred mu = exp(log_mean);
  const double first = y.lower() < 0 ? 0 : std::ceil(y.lower());
  Hundred term = exp(first * log_mean - mu - boost::math::lgamma(Hundred(first + 1)));
  Hundred sum = term;
  for (double k = first + 1; k <= y.upper() && (k < mu || term > sum * Hundred("1e-95")); ++k)
    sum += term *= mu / k;
  return log(sum);
}

TEST(Censored, PoissonDerivativesAreThoseOfTheLikelihood) {
  std::mt19937_64 random(54);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int i = 0; i < 150; ++i) {
    const double mu = std::pow(10, 4 * unit(random) - 1);
    const double spread = 12 * std::sqrt(mu);
    const int kind = i % 4;
    double first = std::floor(std::max(0.0, mu + spread * (2 * unit(random) - 1))) + (kind == 0 ? 0 : 0.5);
    const Response y = kind == 0   ? Response(first)
                       : kind == 1 ? Response(first, first + std::ceil(spread * unit(random) * unit(random)))
                       : kind == 2 ? Response(first, -infinity)
                                   : Response(first, infinity);
    const std::string what = fmt::format("{:.17g} {:.17g} mu {:.17g}", y.value, y.limit, mu);
    const Hundred h("1e-20");
    const Hundred eta = log(Hundred(mu));
    const Hundred here = log_of_counts(y, eta);
    const Hundred up = log_of_counts(y, eta + h);
    const Hundred down = log_of_counts(y, eta - h);
    const RowStep found = row_step(Cpois{}, y, std::log(mu), 1);
    EXPECT_EQ(Cpois::response_fault(y), nullptr) << what;
    expect_near(Cpois::minus_two_log_likelihood(y, mu, 1, 1), -2 * here, mu, what + " log");
    expect_near(found.weight, (2 * here - up - down) / (h * h), mu * 10, what + " information");
    expect_near(found.weight * found.residual, (up - down) / (2 * h), mu * 10, what + " score");
  }
}

/// Rows of a family and mgcv's Dd and dev.resids of them: derivatives of the deviance by the mean.
template <class F>
void expect_rows(const F& family, const std::vector<Response>& y, const std::vector<double>& mu,
                 const std::vector<double>& weight, const std::vector<std::array<double, 3>>& expected,
                 double aic) {
  double minus_two_log = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const RowStep found = row_step(family, y[i], family.link(mu[i]), weight[i]);
    const double slope = family.derivative(family.link(mu[i]));
    const auto& [deviance, first, second] = expected[i];
    EXPECT_NEAR(found.deviance, deviance, 1e-14 * (1 + deviance)) << F::name << " row " << i;
    EXPECT_NEAR(found.weight / slope / slope, second / 2, 1e-14 * second) << F::name << " row " << i;
    EXPECT_NEAR(-2 * found.weight * found.residual / slope, first, 2e-14 * (1 + std::abs(first)))
        << F::name << " row " << i;
    minus_two_log += family.minus_two_log_likelihood(y[i], mu[i], weight[i], 1);
  }
  EXPECT_NEAR(minus_two_log, aic, 1e-13 * aic) << F::name;
}

// The last number is -2 log likelihood by R's distributions; aic of mgcv's clog lacks the means.
TEST(Censored, RowsAreMgcvs) {
  const std::vector<Response> y{1.3, {0.4, 1.9}, {2, -infinity}, {-1, infinity}, {3.5, 2.5}};
  const std::vector<double> mu{0.7, 1.1, 2.6, 0.3, 1};
  const std::vector<double> weight{1, 2, 0.5, 1.5, 0.7};
  const double sigma = 0.8;
  expect_rows(Cnorm(&sigma), y, mu, weight,
              {{0.5625, -1.875, 3.125},
               {0.0042112001122194265, -0.168489020167292, 3.37305979527068089},
               {2.4217159369756480203, 2.05651247926852543, 1.15063156403646749},
               {0.0471184656374185953, -0.17259201499675036, 0.54076029751354315},
               {4.0039510066563668289, -4.01644875078059549, 2.03161208984785358}},
              10.677733471516683);
  expect_rows(Clog(&sigma), y, mu, weight,
              {{0.2748953022198186158, -0.89589349587696487, 1.3618437110113375},
               {0.0025908430227525869, -0.10363404262042136, 2.0727056422367407},
               {1.9861280994988588233, 1.11291553256146791, 0.36439715864427702},
               {0.2562000033165845458, -0.36814178424496485, 0.49583551609517879},
               {1.7952538767756811566, -1.58839174794526561, 0.45112979037157014}},
              10.457631386916988);
  // Of mgcv's second derivative by mu, plus the first one divided by mu.
  expect_rows(Cpois{}, {3, 0, {2.5, -infinity}, {3.5, infinity}, {1.5, 6.5}}, {2.2, 0.4, 4, 1.5, 8},
              std::vector<double>(5, 1),
              {{0.26092956982303717, -0.72727272727272751, 0.90909090909090984},
               {0.8, 2, 5},
               {2.87010128507692652, 1.23076923076923084, 0.44970414201183434},
               {5.44706524390669777, -3.8240713657622134, 0.93830862895088041},
               {1.89887576494357901, 0.76979246733282092, 0.21087515604681792}},
              14.71001752217029);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam

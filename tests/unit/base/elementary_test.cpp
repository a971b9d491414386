// SPDX-License-Identifier: Apache-2.0
// Elementary functions of doubles and of packets, against those of long double.
#include "base/math/elementary.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace tessera::base {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Compares a function at random arguments with the exact one, in units of the last place, and with the same
/// function of a packet, bit by bit.
template <class Function, class Exact, class Draw>
void expect_accuracy(double units, const Function& function, const Exact& exact, const Draw& draw) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 200'000; ++i) {
    const double x = draw(random);
    const double found = function(x);
    const long double value = exact(static_cast<long double>(x));
    const double size = std::abs(static_cast<double>(value));
    const double unit = std::nextafter(size, infinity) - size;
    ASSERT_LE(std::abs(static_cast<double>(found - value)), units * unit) << x;
    Packet<2> pair(x);
    pair.numbers[1] = -x;
    const Packet<2> both = function(pair);
    ASSERT_EQ(bits_of(found), bits_of(both.numbers[0])) << x;
    ASSERT_EQ(bits_of(function(-x)), bits_of(both.numbers[1])) << -x;
  }
}

auto uniform(double low, double high) {
  return [=](auto& random) { return std::uniform_real_distribution<double>(low, high)(random); };
}
/// Numbers of all sizes from e^low to e^high, and their negatives.
auto of_any_size(double low, double high) {
  return [=](auto& random) {
    const double size = std::exp(std::uniform_real_distribution<double>(low, high)(random));
    return random() % 2 == 0 ? size : -size;
  };
}
auto positive(double low, double high) {
  return [=](auto& random) { return std::exp(std::uniform_real_distribution<double>(low, high)(random)); };
}

TEST(Elementary, FunctionsHaveTheirAccuracy) {
  const auto exponential = [](const auto& x) { return exp(x); };
  const auto exact_exponential = [](long double x) { return std::exp(x); };
  expect_accuracy(1.1, exponential, exact_exponential, uniform(-744, 709.7));
  expect_accuracy(1, exponential, exact_exponential, uniform(-2, 2));
  const auto less_one = [](const auto& x) { return expm1(x); };
  const auto exact_less_one = [](long double x) { return std::expm1(x); };
  expect_accuracy(1.3, less_one, exact_less_one, uniform(-60, 709));
  expect_accuracy(1.3, less_one, exact_less_one, of_any_size(-60, 1));
  const auto logarithm = [](const auto& x) { return log(x); };
  const auto exact_logarithm = [](long double x) { return std::log(x); };
  expect_accuracy(1, logarithm, exact_logarithm, positive(-740, 709));
  expect_accuracy(1, logarithm, exact_logarithm, uniform(0.3, 3));
  const auto of_sum = [](const auto& x) { return log1p(x); };
  const auto exact_of_sum = [](long double x) { return std::log1p(x); };
  expect_accuracy(1, of_sum, exact_of_sum, positive(-60, 600));
  expect_accuracy(1, of_sum, exact_of_sum, uniform(-1, 1));
}

TEST(Elementary, HyperbolicFunctionsHaveTheirAccuracy) {
  const auto sine = [](const auto& x) { return sinh(x); };
  expect_accuracy(
      3, sine, [](long double x) { return std::sinh(x); }, of_any_size(-50, 6.56));
  const auto cosine = [](const auto& x) { return cosh(x); };
  expect_accuracy(
      3, cosine, [](long double x) { return std::cosh(x); }, of_any_size(-50, 6.56));
  const auto tangent = [](const auto& x) { return tanh(x); };
  expect_accuracy(
      3, tangent, [](long double x) { return std::tanh(x); }, of_any_size(-50, 4));
  const auto inverse = [](const auto& x) { return asinh(x); };
  expect_accuracy(
      3, inverse, [](long double x) { return std::asinh(x); }, of_any_size(-50, 700));
}

TEST(Elementary, FunctionsHaveTheirLimits) {
  EXPECT_EQ(exp(-infinity), 0);
  EXPECT_EQ(exp(-800.0), 0);
  EXPECT_EQ(exp(infinity), infinity);
  EXPECT_EQ(exp(710.0), infinity);
  EXPECT_EQ(expm1(-infinity), -1);
  EXPECT_EQ(expm1(infinity), infinity);
  EXPECT_EQ(expm1(5e-324), 5e-324);
  EXPECT_TRUE(std::signbit(expm1(-0.0)));
  EXPECT_EQ(log(0.0), -infinity);
  EXPECT_EQ(log(infinity), infinity);
  EXPECT_EQ(log(1.0), 0);
  EXPECT_EQ(log1p(-1.0), -infinity);
  EXPECT_EQ(log1p(infinity), infinity);
  EXPECT_EQ(log1p(5e-324), 5e-324);
  EXPECT_EQ(tanh(infinity), 1);
  EXPECT_EQ(asinh(-infinity), -infinity);
  EXPECT_EQ(sinh(711.0), infinity);
  for (const double x :
       {exp(nan), expm1(nan), log(nan), log1p(nan), tanh(nan), asinh(nan), log(-1.0), log1p(-1.5)})
    EXPECT_TRUE(std::isnan(x));
}

}  // namespace
}  // namespace tessera::base

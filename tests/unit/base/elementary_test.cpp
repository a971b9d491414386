// SPDX-License-Identifier: Apache-2.0
// Elementary functions of doubles and of packets, against numbers of 200 bits.
#include "base/math/elementary.hpp"
#include "base/math/gamma.hpp"
#include "base/math/normal.hpp"
#include "base/math/trigonometric.hpp"

#include <gtest/gtest.h>
#include <boost/math/special_functions/bernoulli.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <type_traits>

namespace tessera::base {
namespace {

using Exact = boost::multiprecision::number<
    boost::multiprecision::cpp_bin_float<200, boost::multiprecision::digit_base_2>,
    boost::multiprecision::et_off>;
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// A packet of x and numbers beside it has the bits of each alone; any NaN is the same as another one.
template <int width, class Function>
void expect_packet(const Function& function, double x) {
  Packet<width> packet(x);
  packet.numbers[0] = -x;
  packet.numbers[1] = 1 / x;
  const Packet<width> found = function(packet);
  for (int i = 0; i < (width == 2 ? 2 : 3); ++i) {
    const double alone = function(static_cast<double>(packet.numbers[i]));
    const double one = found.numbers[i];
    ASSERT_TRUE(bits_of(alone) == bits_of(one) || (std::isnan(alone) && std::isnan(one)))
        << packet.numbers[i] << ' ' << alone << ' ' << one;
  }
}

/// Compares a function at random arguments with the exact one, in units of the last place or, where it is
/// below `small`, in units of 2^-52; and with the same function of packets, bit by bit.
template <class Function, class Of, class Draw>
void expect_accuracy(double units, const Function& function, const Of& exact, const Draw& draw,
                     int count = 5'000, double small = 0) {
  std::mt19937_64 random(3);
  for (int i = 0; i < count; ++i) {
    const double x = draw(random);
    const double found = function(x);
    const Exact value = exact(Exact(x));
    const double size = std::abs(static_cast<double>(value));
    const double unit = std::nextafter(size, infinity) - size;
    const double error = std::abs(static_cast<double>(found - value));
    ASSERT_LE(error, size < small ? 0x1p-52 : units * unit) << x;
    ASSERT_NO_FATAL_FAILURE(expect_packet<2>(function, x));
    ASSERT_NO_FATAL_FAILURE(expect_packet<4>(function, x));
    ASSERT_NO_FATAL_FAILURE(expect_packet<8>(function, x));
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
  const auto exact_exponential = [](const Exact& x) { return Exact(exp(x)); };
  expect_accuracy(1.1, exponential, exact_exponential, uniform(-744, 709.7));
  expect_accuracy(1, exponential, exact_exponential, uniform(-2, 2));
  const auto less_one = [](const auto& x) { return expm1(x); };
  const auto exact_less_one = [](const Exact& x) { return Exact(expm1(x)); };
  expect_accuracy(1.3, less_one, exact_less_one, uniform(-60, 709));
  expect_accuracy(1.3, less_one, exact_less_one, of_any_size(-60, 1));
  const auto logarithm = [](const auto& x) { return log(x); };
  const auto exact_logarithm = [](const Exact& x) { return Exact(log(x)); };
  expect_accuracy(1, logarithm, exact_logarithm, positive(-740, 709));
  expect_accuracy(1, logarithm, exact_logarithm, uniform(0.3, 3));
  const auto of_sum = [](const auto& x) { return log1p(x); };
  const auto exact_of_sum = [](const Exact& x) { return Exact(log1p(x)); };
  expect_accuracy(1, of_sum, exact_of_sum, positive(-60, 600));
  expect_accuracy(1, of_sum, exact_of_sum, uniform(-1, 1));
}

TEST(Elementary, HyperbolicFunctionsHaveTheirAccuracy) {
  const auto sine = [](const auto& x) { return sinh(x); };
  expect_accuracy(
      3, sine, [](const Exact& x) { return Exact(sinh(x)); }, of_any_size(-50, 6.56));
  const auto cosine = [](const auto& x) { return cosh(x); };
  expect_accuracy(
      3, cosine, [](const Exact& x) { return Exact(cosh(x)); }, of_any_size(-50, 6.56));
  const auto tangent = [](const auto& x) { return tanh(x); };
  expect_accuracy(
      3, tangent, [](const Exact& x) { return Exact(tanh(x)); }, of_any_size(-50, 4));
  const auto inverse = [](const auto& x) { return asinh(x); };
  expect_accuracy(
      3, inverse, [](const Exact& x) { return Exact(asinh(x)); }, of_any_size(-50, 700));
}

TEST(Elementary, PowersHaveTheirAccuracy) {
  for (const double y : {0.3, 1.5, -2.7, 17.3, -300.0, 1e4}) {
    const auto power = [&](const auto& x) { return pow(x, std::decay_t<decltype(x)>(y)); };
    const double most = 700 / std::max(1.0, std::abs(y));
    const auto exact_power = [&](const Exact& x) { return Exact(pow(x, Exact(y))); };
    expect_accuracy(1, power, exact_power, positive(-most, most), 5'000);
  }
  for (const double x : {0.3, 1 - 1e-9, 1 + 1e-5, 10.0, 1e-310}) {
    const auto power = [&](const auto& y) { return pow(std::decay_t<decltype(y)>(x), y); };
    const auto exact_power = [&](const Exact& y) { return Exact(pow(Exact(x), y)); };
    const double most = 700 / std::abs(std::log(x));
    expect_accuracy(1, power, exact_power, uniform(-most, most), 5'000);
  }
  const auto binary = [](const auto& x) { return log2(x); };
  expect_accuracy(
      1, binary, [](const Exact& x) { return Exact(log(x) / log(Exact(2))); }, positive(-740, 709));
  const auto decimal = [](const auto& x) { return log10(x); };
  expect_accuracy(
      1, decimal, [](const Exact& x) { return Exact(log(x) / log(Exact(10))); }, positive(-740, 709));
}

TEST(Elementary, TrigonometricFunctionsHaveTheirAccuracy) {
  const auto sine = [](const auto& x) { return sin(x); };
  const auto cosine = [](const auto& x) { return cos(x); };
  const auto tangent = [](const auto& x) { return tan(x); };
  const auto inverse = [](const auto& x) { return atan(x); };
  // The reference loses the digits of a large argument's quadrants.
  expect_accuracy(
      1, sine, [](const Exact& x) { return Exact(sin(x)); }, of_any_size(-40, 60));
  expect_accuracy(
      1, sine, [](const Exact& x) { return Exact(sin(x)); }, uniform(-10, 10));
  expect_accuracy(
      1, cosine, [](const Exact& x) { return Exact(cos(x)); }, of_any_size(-40, 60));
  expect_accuracy(
      1, cosine, [](const Exact& x) { return Exact(cos(x)); }, uniform(-10, 10));
  expect_accuracy(
      1.2, tangent, [](const Exact& x) { return Exact(tan(x)); }, of_any_size(-40, 60));
  expect_accuracy(
      1, inverse, [](const Exact& x) { return Exact(atan(x)); }, of_any_size(-40, 40));
  expect_accuracy(
      1, inverse, [](const Exact& x) { return Exact(atan(x)); }, uniform(-4, 4));
  // By a number of 1,200 bits: arguments whose last bits are many quadrants.
  EXPECT_EQ(sin(1e22), -0.8522008497671888);
  EXPECT_EQ(cos(1e300), -0.5753861119575491);
  EXPECT_EQ(sin(0x1.6ac5b262ca1ffp+849), 1.0);
}

TEST(Elementary, NormalProbabilitiesHaveTheirAccuracy) {
  const auto exact_tail = [](const Exact& x) { return Exact(boost::math::erfc(x)); };
  const auto exact_normal = [=](const Exact& x) { return Exact(exact_tail(-x / sqrt(Exact(2))) / 2); };
  const auto exact_log = [=](const Exact& x) { return Exact(log(exact_normal(x))); };
  const auto error = [](const auto& x) { return erf(x); };
  expect_accuracy(
      1, error, [](const Exact& x) { return Exact(boost::math::erf(x)); }, uniform(-6, 6), 1'000);
  expect_accuracy(
      1, error, [](const Exact& x) { return Exact(boost::math::erf(x)); }, of_any_size(-40, 0.3), 1'000);
  const auto tail = [](const auto& x) { return erfc(x); };
  expect_accuracy(2, tail, exact_tail, uniform(-6, 26.5), 1'000);
  expect_accuracy(2, tail, exact_tail, uniform(-1, 1.5), 1'000);
  const auto normal = [](const auto& x) { return normal_probability(x); };
  expect_accuracy(2, normal, exact_normal, uniform(-37.5, 8), 1'000);
  expect_accuracy(2, normal, exact_normal, uniform(-2, 1), 1'000);
  const auto log_normal = [](const auto& x) { return log_normal_probability(x); };
  expect_accuracy(3, log_normal, exact_log, uniform(-100, 6), 1'000);
  expect_accuracy(3, log_normal, exact_log, uniform(-2, 2), 1'000);
}

/// The derivative of log(gamma(x)), from the zeroth to the second, by Stirling's series at x + n.
Exact exact_polygamma(int derivative, Exact x) {
  Exact sum = 0;
  Exact product = 1;
  for (; x < 40; x += 1) {
    product *= x;
    if (derivative > 0) sum += derivative == 1 ? -1 / x : 1 / (x * x);
  }
  constexpr int terms = 30;
  for (int k = terms; k > 0; --k) {
    const Exact part = boost::math::bernoulli_b2n<Exact>(k) / pow(x, 2 * k);
    sum += derivative == 0 ? part * x / (2 * k * (2 * k - 1)) : derivative == 1 ? -part / (2 * k) : part / x;
  }
  if (derivative == 0)
    return sum - log(product) + (x - 0.5) * log(x) - x + log(2 * boost::math::constants::pi<Exact>()) / 2;
  return derivative == 1 ? sum + log(x) - 1 / (2 * x) : sum + 1 / x + 1 / (2 * x * x);
}

TEST(Elementary, GammaFunctionsHaveTheirAccuracy) {
  const auto log_gamma = [](const auto& x) { return lgamma(x); };
  const auto exact_log = [](const Exact& x) { return exact_polygamma(0, x); };
  expect_accuracy(2, log_gamma, exact_log, uniform(0, 12), 2'000, 0.03);
  expect_accuracy(2, log_gamma, exact_log, uniform(0.8, 2.6), 2'000, 0.03);
  expect_accuracy(2, log_gamma, exact_log, positive(-740, 700), 2'000, 0.03);
  const auto first = [](const auto& x) { return digamma(x); };
  const auto exact_first = [](const Exact& x) { return exact_polygamma(1, x); };
  expect_accuracy(2, first, exact_first, uniform(0, 12), 2'000, 0.09);
  expect_accuracy(2, first, exact_first, uniform(1, 2.6), 2'000, 0.09);
  expect_accuracy(2, first, exact_first, positive(-700, 700), 2'000, 0.09);
  const auto second = [](const auto& x) { return trigamma(x); };
  const auto exact_second = [](const Exact& x) { return exact_polygamma(2, x); };
  expect_accuracy(2, second, exact_second, uniform(0, 12), 1'000);
  expect_accuracy(2, second, exact_second, positive(-350, 350), 1'000);
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
  EXPECT_EQ(log2(8.0), 3);
  EXPECT_EQ(log10(1000.0), 3);
  EXPECT_EQ(log2(0.0), -infinity);
  EXPECT_EQ(log10(infinity), infinity);
  EXPECT_EQ(erf(infinity), 1);
  EXPECT_EQ(erfc(-infinity), 2);
  EXPECT_EQ(erfc(infinity), 0);
  EXPECT_EQ(normal_probability(-infinity), 0);
  EXPECT_EQ(normal_probability(infinity), 1);
  EXPECT_EQ(log_normal_probability(-infinity), -infinity);
  EXPECT_EQ(log_normal_probability(infinity), 0);
  EXPECT_EQ(atan(-infinity), -std::atan(infinity));
  EXPECT_TRUE(std::signbit(sin(-0.0)));
  EXPECT_TRUE(std::signbit(tan(-0.0)));
  EXPECT_TRUE(std::signbit(atan(-0.0)));
  EXPECT_EQ(cos(0.0), 1);
  EXPECT_EQ(lgamma(0.0), infinity);
  EXPECT_EQ(lgamma(1.0), 0);
  EXPECT_EQ(lgamma(2.0), 0);
  EXPECT_EQ(lgamma(infinity), infinity);
  EXPECT_EQ(lgamma(1e306), infinity);
  EXPECT_EQ(digamma(0.0), -infinity);
  EXPECT_EQ(digamma(infinity), infinity);
  EXPECT_EQ(trigamma(0.0), infinity);
  EXPECT_EQ(trigamma(infinity), 0);
  for (const double x :
       {sin(infinity), cos(-infinity), tan(infinity), sin(nan), atan(nan), erf(nan), erfc(nan),
        normal_probability(nan), log_normal_probability(nan), lgamma(nan), lgamma(-1.5), digamma(nan),
        digamma(-1.0), trigamma(nan), trigamma(-0.5), log2(-1.0), log10(nan)})
    EXPECT_TRUE(std::isnan(x));
  for (const double x :
       {exp(nan), expm1(nan), log(nan), log1p(nan), tanh(nan), asinh(nan), log(-1.0), log1p(-1.5)})
    EXPECT_TRUE(std::isnan(x));
}

TEST(Elementary, PowersHaveTheLimitsOfC) {
  const double numbers[] = {
      0,  -0.0, 1,     -1,    0.5,    -0.5,   2,        -2,        3,   -3,
      10, 1e20, -1e20, 1e300, 1e-300, 5e-324, infinity, -infinity, nan, 0x1.fffffffffffffp52};
  for (const double x : numbers) {
    for (const double y : numbers) {
      const double expected = std::pow(x, y);
      const double found = pow(x, y);
      const bool is_rounded = std::nextafter(found, expected) == expected && std::isnormal(expected);
      EXPECT_TRUE(bits_of(found) == bits_of(expected) || is_rounded ||
                  (std::isnan(found) && std::isnan(expected)))
          << x << '^' << y << ": " << found << ", not " << expected;
      ASSERT_NO_FATAL_FAILURE(
          expect_packet<4>([&](const auto& z) { return pow(z, std::decay_t<decltype(z)>(y)); }, x));
    }
  }
}

}  // namespace
}  // namespace tessera::base

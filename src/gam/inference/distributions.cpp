// SPDX-License-Identifier: Apache-2.0
#include "gam/inference/distributions.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace tessera::gam {
namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();
constexpr double tiny = std::numeric_limits<double>::min() / epsilon;
constexpr int term_limit = 10'000'000;

/// A continued fraction b0 + a1/(b1 + a2/(b2 + ...)) by the modified Lentz algorithm (Thompson and Barnett,
/// J. Comput. Phys. 64 (1986), 490-509).
class Lentz {
 public:
  explicit Lentz(double b0) : value_(b0 != 0 ? b0 : tiny), c_(value_) {}
  /// Adds a term; true once it no longer changes the value, or that is no number.
  bool add(double a, double b) {
    d_ = b + a * d_;
    if (std::abs(d_) < tiny) d_ = tiny;
    c_ = b + a / c_;
    if (std::abs(c_) < tiny) c_ = tiny;
    d_ = 1 / d_;
    const double factor = c_ * d_;
    value_ *= factor;
    return !(std::abs(factor - 1) >= 2 * epsilon);
  }
  [[nodiscard]] double value() const noexcept { return value_; }

 private:
  double value_;
  double c_;
  double d_ = 0;
};

/// Q(a, x), the regularised upper incomplete gamma function: NIST DLMF 8.11.4 (series) and 8.9.2.
double upper_gamma(double a, double x) {
  if (x <= 0) return 1;
  if (std::isinf(x)) return 0;
  const double front = std::exp(a * std::log(x) - x - std::lgamma(a));
  if (x < a + 1) {
    double term = 1 / a;
    double sum = term;
    for (int k = 1; k < term_limit && term > epsilon * sum; ++k) {
      term *= x / (a + k);
      sum += term;
    }
    return 1 - front * sum;
  }
  Lentz fraction(x + 1 - a);
  for (int k = 1; k < term_limit; ++k) {
    if (fraction.add(-k * (k - a), x + 2 * k + 1 - a)) break;
  }
  return front / fraction.value();
}

/// I_x(a, b), the regularised incomplete beta function; `y` is 1 - x. NIST DLMF 8.17.22.
double incomplete_beta(double a, double b, double x, double y) {
  if (x <= 0) return 0;
  if (y <= 0) return 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - incomplete_beta(b, a, y, x);
  const double front =
      std::exp(a * std::log(x) + b * std::log(y) + std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b)) / a;
  Lentz fraction(1);
  for (int k = 1; k < term_limit; ++k) {
    const double m = k / 2;
    const double numerator = k % 2 == 0 ? m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
                                        : -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    if (fraction.add(numerator, 1)) break;
  }
  return front / fraction.value();
}

}  // namespace

double normal_two_sided(double z) {
  return std::erfc(std::abs(z) / std::numbers::sqrt2);
}

double student_two_sided(double t, double df) {
  const double square = t * t;
  return incomplete_beta(df / 2, 0.5, df / (df + square), square / (df + square));
}

double f_tail(double x, double df1, double df2) {
  if (x <= 0) return 1;
  const double sum = df2 + df1 * x;
  return incomplete_beta(df2 / 2, df1 / 2, df2 / sum, df1 * x / sum);
}

double chi_squared_tail(double x, double df, double noncentrality) {
  if (noncentrality <= 0) return upper_gamma(df / 2, x / 2);
  // A Poisson mixture of central ones, from its mode outwards (Johnson, Kotz and Balakrishnan, Continuous
  // Univariate Distributions 2, 29.4).
  const double mean = noncentrality / 2;
  const auto weight = [mean](double j) { return std::exp(j * std::log(mean) - mean - std::lgamma(j + 1)); };
  const double mode = std::floor(mean);
  double sum = 0;
  for (double j = mode; j >= 0 && weight(j) > 1e-18; --j) sum += weight(j) * upper_gamma(df / 2 + j, x / 2);
  for (double j = mode + 1; weight(j) > 1e-18; ++j) sum += weight(j) * upper_gamma(df / 2 + j, x / 2);
  return std::min(1.0, sum);
}

}  // namespace tessera::gam

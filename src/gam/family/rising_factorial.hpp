// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/arithmetic.hpp"

#include <tessera/version.hpp>

/// The rising factorial gamma(theta + y)/gamma(theta), y >= 0: its logarithm and derivatives. Accurate also
/// for theta = 1e10, because no values of lgamma or digamma are subtracted. Uses Stirling's series for
/// arguments of at least `stirling_from`, and the recurrence for smaller arguments.
///
/// Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 6.1.15, 6.1.41, 6.3.18 and 6.4.11.
namespace TESSERA_NAMESPACE::gam {

inline constexpr double stirling_from = 10;

/// log(gamma(x)) - (x - 1/2) log(x) + x - log(2 pi)/2.
template <FormulaNumber T>
T stirling_tail(const T& x) {
  const T s = 1.0 / (x * x);
  return (1.0 / 12 -
          s * (1.0 / 360 -
               s * (1.0 / 1260 - s * (1.0 / 1680 - s * (1.0 / 1188 - s * (691.0 / 360360 - s / 156)))))) /
         x;
}

/// log(x) - 1/(2 x) - digamma(x).
template <FormulaNumber T>
T digamma_tail(const T& x) {
  const T s = 1.0 / (x * x);
  return s * (1.0 / 12 -
              s * (1.0 / 120 -
                   s * (1.0 / 252 - s * (1.0 / 240 - s * (1.0 / 132 - s * (691.0 / 32760 - s / 12))))));
}

/// trigamma(x) - 1/x - 1/(2 x^2).
template <FormulaNumber T>
T trigamma_tail(const T& x) {
  const T s = 1.0 / (x * x);
  return s / x *
         (1.0 / 6 -
          s * (1.0 / 30 -
               s * (1.0 / 42 - s * (1.0 / 30 - s * (5.0 / 66 - s * (691.0 / 2730 - s * (7.0 / 6)))))));
}

/// log(gamma(theta + y) / (gamma(theta) theta^y)): 0 for an infinite theta.
inline double log_rising_factorial(double theta, double y) {
  double from = theta;
  double product = 1;
  while (from < stirling_from) {
    product *= (from + y) / from;
    from += 1;
  }
  const double tail = stirling_tail(from + y) - stirling_tail(from);
  const double rest = (from + y - 0.5) * log1p(y / from) - y + tail;
  return from == theta ? rest : rest + y * log(from / theta) - log(product);
}

/// First two derivatives of log(gamma(theta + y)/gamma(theta)) with respect to theta.
struct RisingFactorialSlope {
  double first;   ///< digamma(theta + y) - digamma(theta)
  double second;  ///< trigamma(theta + y) - trigamma(theta)
};
inline RisingFactorialSlope rising_factorial_slope(double theta, double y) {
  double from = theta;
  RisingFactorialSlope slope{0, 0};
  while (from < stirling_from) {
    const double part = y / (from * (from + y));
    slope.first += part;
    slope.second -= part * (1 / from + 1 / (from + y));
    from += 1;
  }
  const double to = from + y;
  const double part = y / (from * to);
  slope.first += log1p(y / from) + 0.5 * part + (digamma_tail(from) - digamma_tail(to));
  slope.second -= part + 0.5 * part * (1 / from + 1 / to) + (trigamma_tail(from) - trigamma_tail(to));
  return slope;
}

}  // namespace TESSERA_NAMESPACE::gam

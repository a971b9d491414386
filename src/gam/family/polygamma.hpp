// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/rising_factorial.hpp"

/// The logarithm of the gamma function and its derivatives for any x > 0, on the host and in kernels.
namespace tessera::gam {

/// What Stirling's formula leaves.
struct StirlingRest {
  double value;   ///< log(gamma(x)) - (x - 1/2) log(x) + x - log(2 pi)/2
  double first;   ///< log(x) - 1/(2 x) - digamma(x), minus the derivative of `value`
  double second;  ///< trigamma(x) - 1/x - 1/(2 x^2), its second derivative
};

/// By Stirling's series from `stirling_from` on, and the recurrence below.
inline StirlingRest stirling_rest(double x) {
  double to = x;
  double product = 1;
  double sum = 0;
  double sum_of_squares = 0;
  while (to < stirling_from) {
    const double inverse = 1 / to;
    product *= to;
    sum += inverse;
    sum_of_squares += inverse * inverse;
    to += 1;
  }
  StirlingRest rest{stirling_tail(to), digamma_tail(to), trigamma_tail(to)};
  if (to > x) {
    const double log_x = log(x);
    const double log_to = log(to);
    const double inverse = 1 / x;
    const double inverse_to = 1 / to;
    rest.value += (to - 0.5) * log_to - to - log(product) - (x - 0.5) * log_x + x;
    rest.first += log_x - log_to - 0.5 * (inverse - inverse_to) + sum;
    rest.second +=
        sum_of_squares + inverse_to + 0.5 * inverse_to * inverse_to - inverse - 0.5 * inverse * inverse;
  }
  return rest;
}

/// The first two derivatives of log(gamma(x)).
struct Polygamma {
  double digamma;
  double trigamma;
};
inline Polygamma polygamma(double x) {
  const StirlingRest rest = stirling_rest(x);
  return {log(x) - 0.5 / x - rest.first, rest.second + 1 / x + 0.5 / (x * x)};
}

}  // namespace tessera::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/rising_factorial.hpp"

/// log(gamma(x)) and its derivatives for x > 0, on the host and in kernels.
namespace TESSERA_NAMESPACE::gam {

template <class T>
struct Polygamma {
  T log_gamma;
  T digamma;
  T trigamma;
};
template <FormulaNumber T>
Polygamma<T> polygamma(const T& x) {
  constexpr double half_log_two_pi = 0.91893853320467274;
  T to = x;
  T product(1.0);
  T sum(0.0);
  T sum_of_squares(0.0);
  for (auto is_small = to < stirling_from; any(is_small); is_small = to < stirling_from) {
    const T inverse = choose(is_small, 1.0 / to, T(0.0));
    product *= choose(is_small, to, T(1.0));
    sum += inverse;
    sum_of_squares += inverse * inverse;
    to += choose(is_small, T(1.0), T(0.0));
  }
  const T inverse = 1.0 / to;
  const T log_to = log(to);
  return {(to - 0.5) * log_to - to + half_log_two_pi + stirling_tail(to) - log(product),
          log_to - 0.5 * inverse - digamma_tail(to) - sum,
          trigamma_tail(to) + inverse * (1.0 + 0.5 * inverse) + sum_of_squares};
}

/// The remainder of Stirling's formula and its derivatives. Note the sign of `first`.
template <class T>
struct StirlingRest {
  T value;   ///< log(gamma(x)) - (x - 1/2) log(x) + x - log(2 pi)/2
  T first;   ///< log(x) - 1/(2 x) - digamma(x), which is -(d/dx) `value`
  T second;  ///< trigamma(x) - 1/x - 1/(2 x^2), the second derivative of `value`
};

/// Stirling's series at x; for small x via the recurrence of `polygamma`.
template <FormulaNumber T>
StirlingRest<T> stirling_rest(const T& x) {
  constexpr double half_log_two_pi = 0.91893853320467274;
  const StirlingRest<T> tail{stirling_tail(x), digamma_tail(x), trigamma_tail(x)};
  const auto is_small = x < stirling_from;
  if (!any(is_small)) return tail;
  const T small = choose(is_small, x, T(stirling_from));
  const Polygamma<T> at = polygamma(small);
  const T log_x = log(small);
  const T inverse = 1.0 / small;
  return {choose(is_small, at.log_gamma - half_log_two_pi - (small - 0.5) * log_x + small, tail.value),
          choose(is_small, log_x - 0.5 * inverse - at.digamma, tail.first),
          choose(is_small, at.trigamma - inverse - 0.5 * inverse * inverse, tail.second)};
}

}  // namespace TESSERA_NAMESPACE::gam

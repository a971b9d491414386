// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/parts.hpp"

namespace TESSERA_NAMESPACE::gam {

/// Poisson counts: V(mu) = mu, log link by default.
struct Poisson : UsualLink<Link::log> {
  static constexpr char name[] = "poisson";
  static constexpr bool in_packets = true;
  static constexpr Link links[] = {Link::log, Link::identity, Link::sqrt};
  static constexpr bool scale_is_known = true;
  static constexpr Start start = Start::adjusted;
  static constexpr Limits limits{.lower = 0};
  static constexpr char residuals[] = " They are close to normal only where counts are large.";

  static const char* response_fault(double y) { return y < 0 ? "must not be negative" : nullptr; }
  template <FormulaNumber T>
  static T variance(const T& mu) {
    return mu;
  }
  template <FormulaNumber T>
  static T weight(const Same<T>& prior, const T& mu, const Same<T>& slope) {
    return prior * slope * slope / mu;
  }
  template <FormulaNumber T>
  static T deviance(const Same<T>& y, const T& mu, const Same<T>& prior) {
    return 2 * prior * (y_log_y(y, mu) - (y - mu));
  }
  template <FormulaNumber T>
  static T first_mean(const T& y, const Same<T>&) {
    return y + 0.1;
  }
  /// Infinite for a fractional response, as in R.
  static double minus_two_log_likelihood(double y, double mu, double weight, double) {
    if (!is_integer(y)) return std::numeric_limits<double>::infinity();
    const double count = nearbyint(y);
    return -2 * weight * (x_log_p(count, mu) - mu - lgamma(count + 1));
  }
};

}  // namespace TESSERA_NAMESPACE::gam

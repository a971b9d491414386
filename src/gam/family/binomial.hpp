// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/parts.hpp"

namespace TESSERA_NAMESPACE::gam {

/// Proportions of successes with the number of trials as prior weight: V(mu) = mu (1 - mu), default link
/// logit.
struct Binomial : UsualLink<Link::logit> {
  static constexpr char name[] = "binomial";
  static constexpr bool in_packets = true;
  static constexpr Link links[] = {Link::logit, Link::probit, Link::cloglog, Link::cauchit, Link::log};
  static constexpr bool scale_is_known = true;
  static constexpr Start start = Start::adjusted;
  static constexpr Limits limits{0, 1};
  static constexpr bool two_levels = true;
  static constexpr char residuals[] =
      " They are close to normal only where a row has many trials: residuals of single yes-or-no answers "
      "fall "
      "on two curves.";

  static const char* response_fault(double y) { return y < 0 || y > 1 ? "must be between 0 and 1" : nullptr; }
  template <FormulaNumber T>
  static T variance(const T& mu) {
    return mu * (1 - mu);
  }
  template <FormulaNumber T>
  static T weight(const Same<T>& prior, const T& mu, const Same<T>& slope) {
    return prior * slope * slope / (mu * (1 - mu));
  }
  template <FormulaNumber T>
  static T deviance(const Same<T>& y, const T& mu, const Same<T>& prior) {
    return 2 * prior * (y_log_y(y, mu) + y_log_y(1 - y, 1 - mu));
  }
  template <FormulaNumber T>
  static T first_mean(const T& y, const Same<T>& prior) {
    return (prior * y + 0.5) / (prior + 1);
  }
  static double minus_two_log_likelihood(double y, double mu, double weight, double) {
    const double successes = nearbyint(weight * y);
    const double trials = nearbyint(weight);
    return -2 * (lgamma(trials + 1) - lgamma(successes + 1) - lgamma(trials - successes + 1) +
                 x_log_p(successes, mu) + x_log_p(trials - successes, 1 - mu));
  }
  static bool likelihood_rounds(double y, double weight) {
    return !(is_integer(weight) && is_integer(weight * y));
  }
};

}  // namespace TESSERA_NAMESPACE::gam

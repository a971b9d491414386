// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/parts.hpp"

namespace TESSERA_NAMESPACE::gam {

/// Gamma responses: V(mu) = mu^2, log link by default.
struct Gamma : LogLinkOfAnyUnit {
  static constexpr char name[] = "Gamma";
  static constexpr bool in_packets = true;
  static constexpr Link links[] = {Link::log, Link::inverse, Link::identity};
  static constexpr bool scale_is_known = false;
  static constexpr Start start = Start::response;
  static constexpr char residuals[] =
      " They are close to normal only where the spread is small relative to the mean.";

  /// 0 is invalid because it is a limit of the means.
  static const char* response_fault(double y) { return y > 0 ? nullptr : "must be greater than 0"; }
  template <FormulaNumber T>
  static T variance(const T& mu) {
    return mu * mu;
  }
  /// With dmu/deta = mu the weight is the prior weight; computing mu^2 could overflow.
  template <FormulaNumber T>
  static T weight(const Same<T>& prior, const T&, const Same<T>&) {
    return prior;
  }
  template <FormulaNumber T>
  static T deviance(const Same<T>& y, const T& mu, const Same<T>& prior) {
    return -2 * prior * (log(choose(y > 0.0, y / mu, T(1.0))) - (y - mu) / mu);
  }
  template <FormulaNumber T>
  static T first_mean(const T& y, const Same<T>&) {
    return y;
  }
  static double aic_scale(double, double, double scale) { return scale; }
  static double minus_two_log_likelihood(double y, double mu, double weight, double scale) {
    const double shape = 1 / scale;
    const double unit = mu / shape;
    return -2 * weight * ((shape - 1) * log(y / unit) - y / unit - lgamma(shape) - log(unit));
  }
};

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/parts.hpp"

namespace TESSERA_NAMESPACE::gam {

/// Inverse Gaussian responses: V(mu) = mu^3, link 1/mu^2 by default.
struct InverseGaussian : UsualLink<Link::inverse_square> {
  static constexpr char name[] = "inverse.gaussian";
  static constexpr bool in_packets = true;
  static constexpr Link links[] = {Link::inverse_square, Link::inverse, Link::identity, Link::log};
  static constexpr bool scale_is_known = false;
  static constexpr Start start = Start::response;
  static constexpr char residuals[] =
      " They are close to normal only where the spread is small relative to the mean.";

  /// 0 is invalid because it is a limit of the means.
  static const char* response_fault(double y) { return y > 0 ? nullptr : "must be greater than 0"; }
  template <FormulaNumber T>
  static T variance(const T& mu) {
    return mu * mu * mu;
  }
  template <FormulaNumber T>
  static T weight(const Same<T>& prior, const T& mu, const Same<T>& slope) {
    return prior * slope * slope / variance(mu);
  }
  template <FormulaNumber T>
  static T deviance(const Same<T>& y, const T& mu, const Same<T>& prior) {
    return choose(mu > 0.0, prior * (y - mu) * (y - mu) / (y * mu * mu),
                  T(std::numeric_limits<double>::quiet_NaN()));
  }
  template <FormulaNumber T>
  static T first_mean(const T& y, const Same<T>&) {
    return y;
  }
  static double aic_scale(double, double, double scale) { return scale; }
  /// Deviance / scale at the scale deviance / weights, where mgcv evaluates R's aic().
  static double aic_misfit(double weights) { return weights; }
  static double minus_two_log_likelihood(double y, double mu, double weight, double scale) {
    constexpr double pi = 3.141592653589793;
    return weight * (log(2 * pi * scale) + 3 * log(y)) + deviance(y, mu, weight) / scale;
  }
};

}  // namespace TESSERA_NAMESPACE::gam

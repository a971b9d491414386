// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/parts.hpp"

namespace TESSERA_NAMESPACE::gam {

/// Positive responses with a heavier tail than Gamma: V(mu) = mu^3, with the link 1/mu^2.
struct InverseGaussian : UsualParts {
  static constexpr char name[] = "inverse.gaussian";
  static constexpr Link links[] = {Link::inverse_square, Link::inverse, Link::identity, Link::log};
  static constexpr bool scale_is_known = false;
  static constexpr Start start = Start::response;
  static constexpr char residuals[] =
      " They are close to normal only where the spread is small relative to the mean.";

  /// A response of 0 is refused too: it would be at the limit of the means.
  static const char* response_fault(double y) { return y > 0 ? nullptr : "must be greater than 0"; }
  static double link(double mu) { return link_of(Link::inverse_square, mu); }
  static double mean(double eta) { return mean_of(Link::inverse_square, eta); }
  static double derivative(double eta) { return derivative_of(Link::inverse_square, eta); }
  static double variance(double mu) { return mu * mu * mu; }
  static double weight(double prior, double mu, double slope) { return prior * slope * slope / variance(mu); }
  static double deviance(double y, double mu, double prior) {
    if (!(mu > 0)) return std::numeric_limits<double>::quiet_NaN();
    return prior * (y - mu) * (y - mu) / (y * mu * mu);
  }
  static double first_mean(double y, double) { return y; }
  static double aic_scale(double, double, double scale) { return scale; }
  /// The deviance divided by deviance / weights, the scale at which mgcv evaluates R's aic().
  static double aic_misfit(double weights) { return weights; }
  static double minus_two_log_likelihood(double y, double mu, double weight, double scale) {
    constexpr double pi = 3.141592653589793;
    return weight * (log(2 * pi * scale) + 3 * log(y)) + deviance(y, mu, weight) / scale;
  }
};

}  // namespace TESSERA_NAMESPACE::gam

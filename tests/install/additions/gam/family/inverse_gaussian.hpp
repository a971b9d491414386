// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/parts.hpp"

namespace tessera::gam {

/// V(mu) = mu^3, with the log link.
struct InverseGaussian {
  static constexpr char name[] = "inverse.gaussian";
  static constexpr Link links[] = {Link::log};
  static constexpr bool scale_is_known = false;
  static constexpr bool linear = false;
  static constexpr Start start = Start::response;
  static constexpr Limits limits{};
  static constexpr bool two_levels = false;
  static constexpr char residuals[] = "";

  static const char* response_fault(double y) { return y > 0 ? nullptr : "must be greater than 0"; }
  static double link(double mu) { return log(mu); }
  static double mean(double eta) { return exp(eta); }
  static double derivative(double eta) { return exp(eta); }
  static double weight(double prior, double mu, double /*slope*/) { return prior / mu; }
  static double deviance(double y, double mu, double prior) {
    return prior * (y - mu) * (y - mu) / (y * mu * mu);
  }
  static double first_mean(double y, double /*prior*/) { return y; }
  static double aic_scale(double deviance, double rows, double /*scale*/) { return deviance / rows; }
  static double minus_two_log_likelihood(double y, double mu, double weight, double scale) {
    return weight * (log(2 * 3.141592653589793 * scale) + 1 + 3 * log(y)) + 0 * mu;
  }
  static bool likelihood_rounds(double /*y*/, double /*weight*/) { return false; }
};

}  // namespace tessera::gam

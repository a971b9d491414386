// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/parts.hpp"

namespace TESSERA_NAMESPACE::gam {

/// V(mu) = mu^2 with a scale of 1, with the log link.
struct Exponential {
  static constexpr char name[] = "exponential";
  static constexpr Link links[] = {Link::log};
  static constexpr bool scale_is_known = true;
  static constexpr bool linear = false;
  static constexpr Start start = Start::response;
  static constexpr Limits limits{};
  static constexpr bool two_levels = false;
  static constexpr char residuals[] = "";

  static const char* response_fault(double y) { return y > 0 ? nullptr : "must be greater than 0"; }
  static double link(double mu) { return log(mu); }
  static double mean(double eta) { return exp(eta); }
  static double derivative(double eta) { return exp(eta); }
  static double weight(double prior, double /*mu*/, double /*slope*/) { return prior; }
  static double deviance(double y, double mu, double prior) {
    return 2 * prior * ((y - mu) / mu - log(y / mu));
  }
  static double first_mean(double y, double /*prior*/) { return y; }
  static double aic_scale(double /*deviance*/, double /*rows*/, double /*scale*/) { return 1; }
  static double minus_two_log_likelihood(double y, double mu, double weight, double /*scale*/) {
    return 2 * weight * (log(mu) + y / mu);
  }
  static bool likelihood_rounds(double /*y*/, double /*weight*/) { return false; }
};

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/parts.hpp"

namespace TESSERA_NAMESPACE::gam {

/// Normal responses: V(mu) = 1, with the identity link.
struct Gaussian : UsualParts {
  static constexpr char name[] = "gaussian";
  static constexpr Link links[] = {Link::identity, Link::log, Link::inverse};
  static constexpr bool scale_is_known = false;
  static constexpr bool linear = true;
  static constexpr Start start = Start::response;
  static constexpr char residuals[] = "";

  static const char* response_fault(double) { return nullptr; }
  static double link(double mu) { return mu; }
  static double mean(double eta) { return eta; }
  static double derivative(double) { return 1; }
  static double variance(double) { return 1; }
  static double weight(double prior, double, double) { return prior; }
  static double deviance(double y, double mu, double prior) { return prior * (y - mu) * (y - mu); }
  static double first_mean(double y, double) { return y; }
  static double aic_scale(double deviance, double rows, double) { return deviance / rows; }
  static double minus_two_log_likelihood(double y, double mu, double weight, double scale) {
    constexpr double pi = 3.141592653589793;
    return log(2 * pi * scale) + weight * (y - mu) * (y - mu) / scale - log(weight);
  }
  static constexpr bool saturated_is_constant = true;
};

}  // namespace TESSERA_NAMESPACE::gam

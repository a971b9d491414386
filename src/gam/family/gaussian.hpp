// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/parts.hpp"

namespace TESSERA_NAMESPACE::gam {

/// Normal responses: V(mu) = 1, identity link by default.
struct Gaussian : UsualLink<Link::identity> {
  static constexpr char name[] = "gaussian";
  static constexpr bool in_packets = true;
  static constexpr Link links[] = {Link::identity, Link::log, Link::inverse};
  static constexpr bool scale_is_known = false;
  static constexpr bool linear = true;
  static constexpr Start start = Start::response;
  static constexpr char residuals[] = "";

  static const char* response_fault(double) { return nullptr; }
  template <FormulaNumber T>
  static T variance(const T&) {
    return 1;
  }
  template <FormulaNumber T>
  static T weight(const Same<T>& prior, const T&, const Same<T>&) {
    return prior;
  }
  template <FormulaNumber T>
  static T deviance(const Same<T>& y, const T& mu, const Same<T>& prior) {
    return prior * (y - mu) * (y - mu);
  }
  template <FormulaNumber T>
  static T first_mean(const T& y, const Same<T>&) {
    return y;
  }
  static double aic_scale(double deviance, double rows, double) { return deviance / rows; }
  static double minus_two_log_likelihood(double y, double mu, double weight, double scale) {
    constexpr double pi = 3.141592653589793;
    return log(2 * pi * scale) + weight * (y - mu) * (y - mu) / scale - log(weight);
  }
  static constexpr bool saturated_is_constant = true;
};

}  // namespace TESSERA_NAMESPACE::gam

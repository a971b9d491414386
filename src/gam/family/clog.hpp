// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/censored.hpp"

namespace TESSERA_NAMESPACE::gam {

struct LogisticError {
  static constexpr double log_peak = -1.3862943611198906;  ///< the log density at 0
  static base::ErrorLikelihood at(double z) {
    const double size = fabs(z);
    const double ratio = exp(-size);
    const double half = sinh(0.25 * z);
    const double log_density = size < 1 ? -2 * log1p(2 * half * half) : -size - 2 * log1p(ratio) - log_peak;
    const double slope = copysign(-expm1(-size) / (1 + ratio), z);
    const double information = 2 * ratio / ((1 + ratio) * (1 + ratio));
    return {log_density, slope, information, z * slope - 1, -z * (slope + z * information)};
  }
  /// F(b) - F(a) = F(b) (1 - F(a)) (1 - exp(a - b)), which does not cancel.
  static base::ErrorLikelihood between(double low, double high, double width) {
    const Tail a(low);
    const Tail b(-high);
    const double closeness = width > 700 ? 0 : width / expm1(width);
    const double log_apart = width < 0.69 ? log(-expm1(-width)) : log1p(-exp(-width));
    const double narrowing = closeness > 0 ? closeness * (1 - width - closeness) : 0;
    return {b.log_above + a.log_above + log_apart, a.below - b.below, a.density + b.density,
            a.times_below + b.times_below - closeness,
            narrowing - a.times_below - b.times_below - a.square_density - b.square_density};
  }

 private:
  /// The logistic distribution at x.
  struct Tail {
    explicit Tail(double x) {
      const double ratio = exp(-fabs(x));
      below = x < 0 ? ratio / (1 + ratio) : 1 / (1 + ratio);
      log_above = (x < 0 ? 0 : -x) - log1p(ratio);
      density = ratio / ((1 + ratio) * (1 + ratio));
      const double inner = ratio > 0 || x > 0 ? x : 0;
      times_below = inner * below;
      square_density = ratio > 0 ? x * x * density : 0;
    }
    double below;           ///< F(x)
    double log_above;       ///< log(1 - F(x))
    double density;         ///< F'(x)
    double times_below;     ///< x F(x)
    double square_density;  ///< x^2 F'(x)
  };
};

/// Censored logistic responses.
struct Clog : CensoredLocation<LogisticError> {
  using CensoredLocation::CensoredLocation;
  static constexpr char name[] = "clog";
  static constexpr char title[] = "clogistic(";
};

}  // namespace TESSERA_NAMESPACE::gam

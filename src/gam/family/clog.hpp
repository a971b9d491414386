// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/censored.hpp"

namespace TESSERA_NAMESPACE::gam {

struct LogisticError {
  static constexpr double log_peak = -1.3862943611198906;  ///< the log density at 0
  template <FormulaNumber T>
  static ErrorLikelihood<T> at(const T& z) {
    const T size = fabs(z);
    const T ratio = exp(-size);
    const T half = sinh(0.25 * z);
    const T log_density =
        choose(size < 1.0, -2 * log1p(2 * half * half), -size - 2 * log1p(ratio) - log_peak);
    const T side = -expm1(-size) / (1 + ratio);
    const T slope = choose(z < 0.0, -side, side);
    const T information = 2 * ratio / ((1 + ratio) * (1 + ratio));
    return {log_density, slope, information, z * slope - 1, -z * (slope + z * information)};
  }
  /// Uses F(b) - F(a) = F(b) (1 - F(a)) (1 - exp(a - b)), which avoids cancellation.
  template <FormulaNumber T>
  static ErrorLikelihood<T> between(const T& low, const Same<T>& high, const Same<T>& width) {
    const Tail<T> a(low);
    const Tail<T> b(-high);
    const T closeness = choose(width > 700.0, T(0.0), width / expm1(width));
    const T log_apart = choose(width < 0.69, log(-expm1(-width)), log1p(-exp(-width)));
    const T narrowing = choose(closeness > 0.0, closeness * (1 - width - closeness), T(0.0));
    return {b.log_above + a.log_above + log_apart, a.below - b.below, a.density + b.density,
            a.times_below + b.times_below - closeness,
            narrowing - a.times_below - b.times_below - a.square_density - b.square_density};
  }

 private:
  /// The logistic distribution function F at x.
  template <class T>
  struct Tail {
    explicit Tail(const T& x) {
      const T ratio = exp(-fabs(x));
      below = choose(x < 0.0, ratio / (1 + ratio), 1 / (1 + ratio));
      log_above = choose(x < 0.0, T(0.0), -x) - log1p(ratio);
      density = ratio / ((1 + ratio) * (1 + ratio));
      const T inner = choose((ratio > 0.0) | (x > 0.0), x, T(0.0));
      times_below = inner * below;
      square_density = choose(ratio > 0.0, x * x * density, T(0.0));
    }
    T below;           ///< F(x)
    T log_above;       ///< log(1 - F(x))
    T density;         ///< F'(x)
    T times_below;     ///< x F(x)
    T square_density;  ///< x^2 F'(x)
  };
};

struct Clog : CensoredLocation<LogisticError> {
  using CensoredLocation::CensoredLocation;
  static constexpr char name[] = "clog";
  static constexpr char title[] = "clogistic(";
};

}  // namespace TESSERA_NAMESPACE::gam

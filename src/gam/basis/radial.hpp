// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cmath>

#ifndef __CUDACC__
#include "base/math/elementary.hpp"
#endif

/// Radial functions of the distance r between two points; the same source compiles for host and kernels.
namespace TESSERA_NAMESPACE::gam {

#ifndef __CUDACC__
using base::exp;
using base::log;
using base::pow;
using base::sqrt;
#endif

enum class RadialKind {
  power,        ///< scale r^p
  power_log,    ///< scale r^p log r, p even
  spherical,    ///< 1 - 1.5 e + 0.5 e^3 up to e = 1; here and in later kinds e = scale r
  exponential,  ///< exp(-e^exponent)
  matern_3,     ///< (1 + e) exp(-e)
  matern_5,     ///< (1 + e + e^2 / 3) exp(-e)
  matern_7,     ///< (1 + e + 0.4 e^2 + e^3 / 15) exp(-e)
};

struct RadialFunction {
  RadialKind kind = RadialKind::power;
  int power = 3;
  double scale = 1;
  double exponent = 1;
  friend bool operator==(const RadialFunction&, const RadialFunction&) = default;
};

/// scale r^p log r, given r^2 and its logarithm.
inline double power_log_value(const RadialFunction& function, double square, double log_square) {
  double value = function.scale;
  for (int i = 1; i < function.power; i += 2) value *= square;
  return square > 0 ? value * (0.5 * log_square) : 0;
}

/// The function's value at distance r; `square` is r^2.
inline double radial_value(const RadialFunction& function, double square) {
  if (function.kind == RadialKind::power_log) return power_log_value(function, square, log(square));
  if (function.kind == RadialKind::power) {
    double value = function.scale;
    for (int i = 1; i < function.power; i += 2) value *= square;
    return function.power % 2 == 0 ? value : value * sqrt(square);
  }
  const double e = function.scale * sqrt(square);
  switch (function.kind) {
    case RadialKind::spherical: return e <= 1 ? 1 - 1.5 * e + 0.5 * e * e * e : 0;
    case RadialKind::exponential: return exp(-pow(e, function.exponent));
    case RadialKind::matern_3: return (1 + e) * exp(-e);
    case RadialKind::matern_5: return (1 + e + e * e / 3) * exp(-e);
    default: return (1 + e + 0.4 * e * e + e * e * e / 15) * exp(-e);
  }
}

}  // namespace TESSERA_NAMESPACE::gam

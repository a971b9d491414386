// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

/// Functions of the distance of two points, by the same source on the host and in a kernel.
namespace tessera::gam {

enum class RadialKind {
  power,      ///< scale r^p
  power_log,  ///< scale r^p log r, p even
};

struct RadialFunction {
  RadialKind kind = RadialKind::power;
  int power = 3;
  double scale = 1;
  friend bool operator==(const RadialFunction&, const RadialFunction&) = default;
};

/// The function at the square of a distance.
inline double radial_value(const RadialFunction& function, double square) {
  double value = function.scale;
  for (int i = 1; i < function.power; i += 2) value *= square;
  if (function.kind == RadialKind::power_log) return square > 0 ? value * (0.5 * log(square)) : 0;
  return function.power % 2 == 0 ? value : value * sqrt(square);
}

}  // namespace tessera::gam

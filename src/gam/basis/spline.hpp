// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cmath>

/// How a margin is evaluated (see `Margin`), by the same source on the host and in a kernel. `evaluate` has
/// it for a margin itself, and terms/evaluation.hpp for one among the tables of a pass, where widths are
/// inverted and the continuations are cells of their own.
namespace TESSERA_NAMESPACE::gam {

/// x brought into a period from `first` to `last`.
inline double within_period(double x, double first, double last) {
  if (!(x < first || x > last)) return x;
  const double period = last - first;
  return x - period * floor((x - first) / period);
}

/// How many of `count` increasing breaks are not above x; 0 for what is no number.
inline int breaks_up_to(const double* breaks, int count, double x) {
  // Without a branch, whose outcome could not be predicted.
  int low = 0;
  for (; count > 1; count -= count / 2) low += breaks[low + count / 2 - 1] <= x ? count / 2 : 0;
  return low + (count > 0 && breaks[low] <= x ? 1 : 0);
}

/// a + b t + c t^2 + d t^3.
inline double cubic(double a, double b, double c, double d, double t) {
  return ((d * t + c) * t + b) * t + a;
}

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cmath>

/// Helpers for the evaluation of a `Margin`; the same source compiles for host and kernels. A pass over the
/// rows uses a `MarginTable` (terms/tables.hpp) instead of a `Margin`.
namespace TESSERA_NAMESPACE::gam {

inline double wrap_into_period(double x, double first, double last) {
  if (!(x < first || x > last)) return x;
  const double period = last - first;
  return x - period * floor((x - first) / period);
}

/// The number of breaks that are <= x; 0 for NaN. The `count` breaks are increasing.
inline int breaks_up_to(const double* breaks, int count, double x) {
  // Branch-free, because the comparisons are unpredictable.
  int low = 0;
  for (; count > 1; count -= count / 2) low += breaks[low + count / 2 - 1] <= x ? count / 2 : 0;
  return low + (count > 0 && breaks[low] <= x ? 1 : 0);
}

inline double cubic(double a, double b, double c, double d, double t) {
  return ((d * t + c) * t + b) * t + a;
}

}  // namespace TESSERA_NAMESPACE::gam

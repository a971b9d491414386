// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

namespace TESSERA_NAMESPACE::gam {

/// Newton's method for the coefficients that maximise the penalised log likelihood of a component. The log
/// likelihood is concave: step halving needs only its slope at the end of a step, not its value.
/// Compiled for host and devices.
struct CoefficientSearch {
  enum class State { searching, settled, failed };

  double slope;      ///< slope at the start of the last full step; g'A^-1 g unless the step was limited
  double length;     ///< fraction of the last full step taken
  double decrement;  ///< if settled: squared length of the next step
  int steps;

  TESSERA_LANE_INLINE static CoefficientSearch begin() { return {0, 1, 0, 0}; }

  /// Moves the `n` coefficients `b` to the next point that needs a gradient. Returns `settled` instead if the
  /// squared length g'A^-1 g of the next step is below `tolerance`. `gradient` (g), A: at `b`. `from` and
  /// `step` keep state between calls. `solve(x)` sets x = A^-1 x; false if A is not positive definite.
  template <class Solve>
  TESSERA_LANE_INLINE State advance(int n, double tolerance, const double* gradient, double* b, double* from,
                                    double* step, const Solve& solve) {
    constexpr int most_steps = 100;
    constexpr double least_slope = 1e-10;
    constexpr double least_length = 1e-6;
    if (++steps > most_steps) return State::failed;
    if (steps > 1 && !(dot(n, gradient, step) >= -0.5 * slope) && slope > least_slope) {
      length /= 2;
      if (length < least_length) return State::failed;
      for (int j = 0; j < n; ++j) b[j] = from[j] + length * step[j];
      return State::searching;
    }
    for (int j = 0; j < n; ++j) step[j] = gradient[j];
    if (!solve(step)) return State::failed;
    slope = dot(n, gradient, step);
    const double size = largest(n, step);
    const double size_of_b = largest(n, b);
    // If coefficients far exceed their standard errors, e.g. responses with a mean far from zero, a step of
    // this relative size is rounding.
    constexpr double rounding = 4 * 2.220446049250313e-16;
    const bool is_rounding = size <= rounding * size_of_b;
    if (slope < tolerance || is_rounding) {
      decrement = is_rounding ? 0 : slope;
      return State::settled;
    }
    // Limits the step to max(8, twice the largest coefficient). Doubling reaches distant coefficients, e.g.
    // of a curve that falls steeply after the last positive count.
    constexpr double least_longest = 8;
    const double longest = least_longest > 2 * size_of_b ? least_longest : 2 * size_of_b;
    if (size > longest) {
      for (int j = 0; j < n; ++j) step[j] *= longest / size;
      slope *= longest / size;
    }
    length = 1;
    for (int j = 0; j < n; ++j) {
      from[j] = b[j];
      b[j] += step[j];
    }
    return State::searching;
  }

 private:
  TESSERA_LANE_INLINE static double dot(int n, const double* a, const double* b) {
    double sum = 0;
    for (int j = 0; j < n; ++j) sum += a[j] * b[j];
    return sum;
  }
  TESSERA_LANE_INLINE static double largest(int n, const double* x) {
    double most = 0;
    for (int j = 0; j < n; ++j) {
      const double size = x[j] < 0 ? -x[j] : x[j];
      if (size > most) most = size;
    }
    return most;
  }
};

}  // namespace TESSERA_NAMESPACE::gam

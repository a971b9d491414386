// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

/// Probabilities of intervals of a normal variable, exact to rounding in the tails too. Host and kernels use
/// the same source.
namespace tessera::base {

/// The log probability that an error lies in an interval or, up to a constant, its log density at a point;
/// and its derivatives when the error is (y - mu)/sigma.
struct ErrorLikelihood {
  double log;                 ///< log probability
  double slope;               ///< sigma times its derivative by mu
  double information;         ///< -sigma^2 times the second one
  double by_log_scale;        ///< its derivative by log(sigma), of a point without the term -log(sigma)
  double by_log_scale_twice;  ///< the second one
};

/// The moments of V = v > 0 with density proportional to exp(-t v - v^2/2), t >= 3: the integrals of v^k
/// times this, k = 0 to 4. The ratio r_k of one to the one before is k/(t + r_(k+1)), a continued fraction.
struct NormalTail {
  explicit NormalTail(double t) {
    const int depth = t < 4 ? 60 : t < 8 ? 36 : 16;
    double ratio = 0.5 * (sqrt(t * t + 4 * (depth + 1)) - t);
    for (int k = depth; k > 4; --k) ratio = k / (t + ratio);
    double ratios[4];
    for (int k = 4; k > 0; --k) ratios[k - 1] = ratio = k / (t + ratio);
    moments[0] = 1 / (t + ratio);
    for (int k = 1; k <= 4; ++k) moments[k] = moments[k - 1] * ratios[k - 1];
  }
  double moments[5];
};

/// The interval from `low` to `high`, one of which may be infinite. `width`: high - low, which the caller may
/// know better than their difference. With Z normal within the interval the derivatives are E Z, 1 - Var Z,
/// E Z^2 - 1 and Var Z^2 - 2 E Z^2. These moments are those of Z less a point of the interval, whose terms do
/// not cancel: its middle if it is short, its inner end if it is in a tail.
inline ErrorLikelihood normal_interval(double low, double high, double width) {
  constexpr double root_half = 0.70710678118654752;
  constexpr double half_log_two_pi = 0.91893853320467274;
  const bool mirrored = low + high > 0;
  if (mirrored) {
    const double end = low;
    low = -high;
    high = -end;
  }
  const auto out = [mirrored](double log, double mean, double information, double excess, double twice) {
    return ErrorLikelihood{log, mirrored ? -mean : mean, information, excess, twice};
  };
  /// Z = at + V, where `v` are the moments of V.
  const auto shifted = [&](double log, double at, const double(&v)[5]) {
    const double variance = v[2] - v[1] * v[1];
    const double excess = (at - 1) * (at + 1) + 2 * at * v[1] + v[2];
    const double variance_of_square =
        4 * at * at * variance + 4 * at * (v[3] - v[1] * v[2]) + (v[4] - v[2] * v[2]);
    return out(log, at + v[1], 1 - variance, excess,
               variance_of_square - 2 * (at * at + 2 * at * v[1] + v[2]));
  };
  const double middle = 0.5 * (low + high);
  if (width <= 3 && -width * middle <= 8) {
    // By Gauss and Legendre's rule of 12 points.
    constexpr double points[] = {0.12523340851146892, 0.36783149899818019, 0.58731795428661745,
                                 0.76990267419430469, 0.90411725637047486, 0.98156063424671925};
    constexpr double weights[] = {0.24914704581340279, 0.23349253653835481, 0.20316742672306592,
                                  0.16007832854334623, 0.10693932599531843, 0.04717533638651183};
    double v[5] = {};
    for (int i = 0; i < 6; ++i) {
      const double u = 0.5 * width * points[i];
      const double density = weights[i] * exp(-0.5 * u * u);
      const double even = density * cosh(middle * u);
      const double odd = -density * sinh(middle * u) * u;
      v[0] += even;
      v[1] += odd;
      v[2] += u * u * even;
      v[3] += u * u * odd;
      v[4] += u * u * u * u * even;
    }
    const double log_probability = -0.5 * middle * middle - half_log_two_pi + log(width * v[0]);
    for (int k = 4; k > 0; --k) v[k] /= v[0];
    return shifted(log_probability, middle, v);
  }
  if (high > -3) {
    const double outside = 0.5 * erfc(-low * root_half) + 0.5 * erfc(high * root_half);
    const double inside =
        outside < 0.5 ? 1 - outside : 0.5 * erfc(-high * root_half) - 0.5 * erfc(-low * root_half);
    const double at_low = exp(-0.5 * low * low - half_log_two_pi) / inside;
    const double at_high = exp(-0.5 * high * high - half_log_two_pi) / inside;
    const double a = at_low > 0 ? low : 0;
    const double b = at_high > 0 ? high : 0;
    const double mean = at_low - at_high;
    const double excess = a * at_low - b * at_high;
    return out(outside < 0.5 ? log1p(-outside) : log(inside), mean, mean * mean - excess, excess,
               a * a * a * at_low - b * b * b * at_high - excess - excess * excess);
  }
  const double t = -high;
  NormalTail tail(t);
  double(&v)[5] = tail.moments;
  if (const double rest = exp(width * middle); rest > 0) {
    const double d = width;
    const NormalTail beyond(-low);
    const double(&w)[5] = beyond.moments;
    v[4] -= rest * (w[4] + d * (4 * w[3] + d * (6 * w[2] + d * (4 * w[1] + d * w[0]))));
    v[3] -= rest * (w[3] + d * (3 * w[2] + d * (3 * w[1] + d * w[0])));
    v[2] -= rest * (w[2] + d * (2 * w[1] + d * w[0]));
    v[1] -= rest * (w[1] + d * w[0]);
    v[0] -= rest * w[0];
  }
  const double log_probability = -0.5 * t * t - half_log_two_pi + log(v[0]);
  for (int k = 4; k > 0; --k) v[k] = (k % 2 == 0 ? v[k] : -v[k]) / v[0];  // of Z - high = -V
  return shifted(log_probability, high, v);
}

/// The density at z, relative to that at 0.
inline ErrorLikelihood normal_point(double z) {
  return {-0.5 * z * z, z, 1, (z - 1) * (z + 1), -2 * z * z};
}

}  // namespace tessera::base

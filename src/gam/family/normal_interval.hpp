// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/arithmetic.hpp"

#include <tessera/version.hpp>

/// Normal probabilities of intervals, to full precision also in the tails. T is a double or a SIMD packet of
/// rows. The same source for host and kernels.
namespace TESSERA_NAMESPACE::gam {

/// Log likelihood of a standardised error z = (y - mu)/sigma: the log probability of an interval or, up to a
/// constant, the log density at a point. The derivatives are those of `log`.
template <class T>
struct ErrorLikelihood {
  T log;
  T slope;               ///< sigma times d log / d mu
  T information;         ///< -sigma^2 times the second derivative with respect to mu
  T by_log_scale;        ///< derivative with respect to log(sigma); at a point, of `log` - log(sigma)
  T by_log_scale_twice;  ///< second derivative of the same with respect to log(sigma)
};
template <class Mask, class T>
ErrorLikelihood<T> choose(const Mask& where, const ErrorLikelihood<T>& a, const ErrorLikelihood<T>& b) {
  return {choose(where, a.log, b.log), choose(where, a.slope, b.slope),
          choose(where, a.information, b.information), choose(where, a.by_log_scale, b.by_log_scale),
          choose(where, a.by_log_scale_twice, b.by_log_scale_twice)};
}

/// `moments[k]`, k = 0 to 4: integrals over v > 0 of v^k exp(-t v - v^2/2), t >= 3. The ratio r_k of moment k
/// to moment k - 1 is the continued fraction k/(t + r_(k+1)).
template <class T>
struct NormalTail {
  explicit NormalTail(const T& t) {
    const T depth = choose(t < 4.0, T(60.0), choose(t < 8.0, T(36.0), T(16.0)));
    const int most = any(t < 4.0) ? 60 : any(t < 8.0) ? 36 : 16;
    T ratio = 0.5 * (sqrt(t * t + 4 * (depth + 1)) - t);
    for (int k = most; k > 4; --k) ratio = choose(depth < k, ratio, k / (t + ratio));
    T ratios[4];
    for (int k = 4; k > 0; --k) ratios[k - 1] = ratio = k / (t + ratio);
    moments[0] = 1 / (t + ratio);
    for (int k = 1; k <= 4; ++k) moments[k] = moments[k - 1] * ratios[k - 1];
  }
  T moments[5];
};

/// For a truncated normal Z the derivatives are E Z, 1 - Var Z, E Z^2 - 1 and Var Z^2 - 2 E Z^2. `v` has the
/// moments of Z - at, with v[0] = 1.
template <class T>
ErrorLikelihood<T> of_moments(const T& log, const T& at, const T (&v)[5]) {
  const T variance = v[2] - v[1] * v[1];
  const T excess = (at - 1) * (at + 1) + 2 * at * v[1] + v[2];
  const T variance_of_square = 4 * at * at * variance + 4 * at * (v[3] - v[1] * v[2]) + (v[4] - v[2] * v[2]);
  return {log, at + v[1], 1 - variance, excess, variance_of_square - 2 * (at * at + 2 * at * v[1] + v[2])};
}

/// A short interval, by 12-point Gauss-Legendre quadrature.
template <FormulaNumber T>
ErrorLikelihood<T> short_interval(const T& middle, const Same<T>& width) {
  constexpr double half_log_two_pi = 0.91893853320467274;
  constexpr double points[] = {0.12523340851146892, 0.36783149899818019, 0.58731795428661745,
                               0.76990267419430469, 0.90411725637047486, 0.98156063424671925};
  constexpr double weights[] = {0.24914704581340279, 0.23349253653835481, 0.20316742672306592,
                                0.16007832854334623, 0.10693932599531843, 0.04717533638651183};
  T v[5] = {};
  for (int i = 0; i < 6; ++i) {
    const T u = 0.5 * width * points[i];
    const T density = weights[i] * exp(-0.5 * u * u);
    const T even = density * cosh(middle * u);
    const T odd = -density * sinh(middle * u) * u;
    v[0] += even;
    v[1] += odd;
    v[2] += u * u * even;
    v[3] += u * u * odd;
    v[4] += u * u * u * u * even;
  }
  const T log_probability = -0.5 * middle * middle - half_log_two_pi + log(width * v[0]);
  for (int k = 4; k > 0; --k) v[k] = v[k] / v[0];
  return of_moments(log_probability, middle, v);
}

/// An interval whose end nearer to 0 is above -3: by the normal distribution function.
template <FormulaNumber T>
ErrorLikelihood<T> wide_interval(const T& low, const Same<T>& high) {
  constexpr double half_log_two_pi = 0.91893853320467274;
  const T outside = normal_probability(low) + normal_probability(T(-high));
  const auto is_most = outside < 0.5;
  const T inside = choose(is_most, 1 - outside, normal_probability(high) - normal_probability(low));
  const T at_low = exp(-0.5 * low * low - half_log_two_pi) / inside;
  const T at_high = exp(-0.5 * high * high - half_log_two_pi) / inside;
  const T a = choose(at_low > 0.0, low, T(0.0));
  const T b = choose(at_high > 0.0, high, T(0.0));
  const T mean = at_low - at_high;
  const T excess = a * at_low - b * at_high;
  return {choose(is_most, log1p(-outside), log(inside)), mean, mean * mean - excess, excess,
          a * a * a * at_low - b * b * b * at_high - excess - excess * excess};
}

/// An interval below -3, by the continued fractions of `NormalTail`.
template <FormulaNumber T>
ErrorLikelihood<T> tail_interval(const T& low, const Same<T>& high, const Same<T>& width) {
  constexpr double half_log_two_pi = 0.91893853320467274;
  const T t = -high;
  NormalTail<T> tail(t);
  T(&v)[5] = tail.moments;
  const T rest = exp(width * (0.5 * (low + high)));
  const auto has_rest = rest > 0.0;
  if (any(has_rest)) {
    const T d = choose(has_rest, width, T(0.0));
    const NormalTail<T> beyond(choose(has_rest, -low, t));
    const T(&w)[5] = beyond.moments;
    v[4] -= rest * (w[4] + d * (4 * w[3] + d * (6 * w[2] + d * (4 * w[1] + d * w[0]))));
    v[3] -= rest * (w[3] + d * (3 * w[2] + d * (3 * w[1] + d * w[0])));
    v[2] -= rest * (w[2] + d * (2 * w[1] + d * w[0]));
    v[1] -= rest * (w[1] + d * w[0]);
    v[0] -= rest * w[0];
  }
  const T log_probability = -0.5 * t * t - half_log_two_pi + log(v[0]);
  for (int k = 4; k > 0; --k) v[k] = (k % 2 == 0 ? v[k] : -v[k]) / v[0];  // moments of Z - high = -V
  return of_moments(log_probability, high, v);
}

/// The interval from `start` to `end`, one of which may be infinite. `width` is end - start, which the caller
/// may know without cancellation. To avoid cancellation, moments are taken about the middle of a short
/// interval, or about the inner end of an interval in a tail.
template <FormulaNumber T>
ErrorLikelihood<T> normal_interval(const T& start, const Same<T>& end, const Same<T>& width) {
  const auto mirrored = start + end > 0.0;
  const T low = choose(mirrored, -end, start);
  const T high = choose(mirrored, -start, end);
  const T middle = 0.5 * (low + high);
  // 1: short, 2: wide, 3: tail.
  const T kind =
      choose((width <= 3.0) & (-width * middle <= 8.0), T(1.0), choose(high > -3.0, T(2.0), T(3.0)));
  ErrorLikelihood<T> at{};
  if (any(kind == 1.0)) at = short_interval(middle, width);
  if (any(kind == 2.0)) at = choose(kind == 2.0, wide_interval(low, high), at);
  if (any(kind == 3.0)) at = choose(kind == 3.0, tail_interval(low, high, width), at);
  at.slope = choose(mirrored, -at.slope, at.slope);
  return at;
}

/// The density at z relative to the density at 0.
template <FormulaNumber T>
ErrorLikelihood<T> normal_point(const T& z) {
  return {-0.5 * z * z, z, T(1.0), (z - 1) * (z + 1), -2 * z * z};
}

}  // namespace TESSERA_NAMESPACE::gam

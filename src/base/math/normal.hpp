// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/math/elementary.hpp"

#include <cmath>
#include <limits>

/// The normal distribution function and the error function of a double or a packet: see elementary.hpp.
///
/// Algorithm: exp(a^2/2) (1 + 2 a) Phi(-a) is smooth in (a - 4)/(a + 4) for all a >= 0 (Shepherd and
/// Laframboise, Mathematics of Computation 36 (1981)); polynomials for it and for erf near 0 interpolate at
/// Chebyshev points.
namespace tessera::base {

namespace elementary {

/// T(b) = exp(b^2/2) Phi(-b) at b = a + lost, for a >= 0.
template <PacketOrDouble T>
inline Parts<T> normal_tail(const T& a, const T& lost) {
  static constexpr double terms[] = {
      -0.023009233104596755,   -0.09637998589041442,    0.12890813544489566,    -0.09526047896237783,
      0.04436429043975372,     -0.010512319259804087,   -0.0012100600242064988, 0.0015769785111184854,
      -0.0001433057916871578,  -0.00020435494071401617, 3.786936082185221e-05,  3.15582994377144e-05,
      -6.0373892416426645e-06, -5.890181056562439e-06,  6.075108284129359e-07,  1.2035357521998215e-06,
      5.026102003810603e-08,   -2.3787298483284768e-07, -4.771265268284424e-08, 3.9951618556375944e-08,
      1.2939238754422695e-08,  -4.799634918647885e-09,  -1.532741041438164e-09, 2.927719570331928e-10};
  constexpr double density_at_zero = 0.39894228040143268;
  const T inner = choose(a > 1e300, T(1e300), a);
  const Parts<T> less = exact_sum(inner, T(-4.0));
  const Parts<T> more = exact_sum(inner, T(4.0));
  const T q = less.value / more.value;
  const Parts<T> value = exact_sum(T(0.8496957717177205), q * polynomial(terms, q));
  const Parts<T> divisor = exact_sum(2.0 * inner, T(1.0));
  const T tail = value.value / divisor.value;
  // Correction for the rounding of the quotients: q is exact at a - `away`, and T' = a T - 1 / sqrt(2 pi).
  const Parts<T> of_q = exact_product(q, more.value);
  const T rest = ((less.value - of_q.value) - of_q.lost) + (less.lost - q * more.lost);
  const T away = rest * more.value * 0.125;
  const Parts<T> of_tail = exact_product(tail, divisor.value);
  const T missing = ((value.value - of_tail.value) - of_tail.lost) + (value.lost - 5.270248820184956e-17) -
                    tail * (divisor.lost - 2.0 * away);
  return {tail, missing / divisor.value + (away + lost) * (inner * tail - density_at_zero)};
}

/// erf(x), for |x| at most 1.
template <PacketOrDouble T>
inline T near_erf(const T& x) {
  static constexpr double terms[] = {
      -0.0011263890318375,     0.11283791670954879,    -0.026866170645076792,   0.0052239776248180145,
      -0.000854832698083379,   0.0001205533111164271,  -1.4925595266831182e-05, 1.6461000484121368e-06,
      -1.6350312701054695e-07, 1.4659775274047436e-08, -1.1372848856791674e-09, 5.957176147748911e-11};
  const Parts<T> z = exact_product(x, x);
  // Products by powers of 2 are exact.
  const Parts<T> first = exact_sum(T(0.1283791670955126), -0.25 * z.value);
  const Parts<T> second = exact_sum(first.value, -0.125 * z.value);
  const T small = (first.lost + second.lost - 0.375 * z.lost) + z.value * polynomial(terms, z.value);
  return x + x * (second.value + small);
}

/// 1 - erf(a), for a >= 0.
template <PacketOrDouble T>
inline T erf_tail(const T& a) {
  constexpr double root_two = 1.4142135623730951;
  constexpr double lost_of_root_two = -0x1.bdd3413b26456p-54;
  constexpr double most = 28;  // beyond it the result is 0
  const T inner = choose(a > most, T(most), a);
  const Parts<T> square = exact_product(inner, inner);
  const Parts<T> scaled = exact_product(inner, T(root_two));
  const Parts<T> tail = normal_tail<T>(scaled.value, scaled.lost + inner * lost_of_root_two);
  const Parts<T> power = exp_of_sum<T>(-square.value, -square.lost);
  return 2.0 * (power.value * tail.value + (power.value * tail.lost + power.lost * tail.value));
}

}  // namespace elementary

/// erf(x), to 1 ulp.
template <PacketOrDouble T>
inline T erf(const T& x) {
  using namespace elementary;
  const T size = fabs(x);
  const T far = 1.0 - erf_tail(size);
  return choose(size > 1.0, choose(x < 0.0, -far, far), near_erf(choose(size > 1.0, T(0.0), x)));
}

/// 1 - erf(x), to 2 ulp.
template <PacketOrDouble T>
inline T erfc(const T& x) {
  using namespace elementary;
  const T tail = erf_tail(fabs(x));
  const auto is_near = fabs(x) < 0.46;
  return choose(is_near, 1.0 - near_erf(choose(is_near, x, T(0.0))), choose(x < 0.0, 2.0 - tail, tail));
}

/// The normal distribution function Phi(x), to 2 ulp.
template <PacketOrDouble T>
inline T normal_probability(const T& x) {
  using namespace elementary;
  constexpr double most = 39;  // beyond it the result is 0 or 1
  const T size = fabs(x);
  const T inner = choose(size > most, T(most), size);
  const Parts<T> half_square = exact_product(0.5 * inner, inner);
  const Parts<T> of_tail = normal_tail(inner, T(0.0));
  const Parts<T> power = exp_of_sum<T>(-half_square.value, -half_square.lost);
  const T tail = power.value * of_tail.value + (power.value * of_tail.lost + power.lost * of_tail.value);
  const auto is_near = size < 0.65;
  const T near = 0.5 + 0.5 * near_erf(choose(is_near, 0.70710678118654752 * x, T(0.0)));
  return choose(is_near, near, choose(x > 0.0, 1.0 - tail, tail));
}

/// log(Phi(x)), to 3 ulp.
template <PacketOrDouble T>
inline T log_normal_probability(const T& x) {
  const T tail = elementary::normal_tail<T>(fabs(x), T(0.0)).value;
  const T own = normal_probability<T>(-fabs(x));
  const auto is_far = x < -1.0;
  const T below = log(choose(is_far, tail, own)) - choose(is_far, 0.5 * x * x, T(0.0));
  return choose(x > 0.0, log1p(-own), below);
}

}  // namespace tessera::base

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/math/elementary.hpp"

#include <cmath>
#include <limits>

/// The log-gamma function and its derivatives for a double or a packet x > 0 (see elementary.hpp). NaN for
/// x < 0.
///
/// Algorithms: Stirling's series for x >= 10. Below 10, lgamma and digamma use the recurrence from a
/// polynomial near 2 that interpolates at Chebyshev points; trigamma uses the recurrence up to 10 (Abramowitz
/// and Stegun, Handbook of Mathematical Functions, 6.1.15, 6.1.41, 6.3.5, 6.3.18, 6.4.6 and 6.4.12).
namespace tessera::base {

namespace elementary {

inline constexpr double stirling_least = 10;
inline constexpr double digamma_of_two = 0.42278433509846713;
inline constexpr double lost_of_digamma_of_two = 4.942915152430645e-18;

/// x = 2 + t + n for an integer n, with |t| at most 1/2, if x < `stirling_least`; else t = 0.
template <PacketOrDouble T>
struct NearTwo {
  /// Calls `factor` with x - 1, x - 2, ... down to 2 + t. A lane with no factor left gets infinity.
  template <class Use>
  NearTwo(const T& x, const Use& factor)
      : is_near(x < stirling_least), is_first(x < 0.5), is_second(x < 1.5) {
    T below = choose(is_near, x, T(2.0)) - 1.0;
    for (auto goes_on = below >= 1.5; any(goes_on); goes_on = below >= 1.5) {
      factor(choose(goes_on, below, T(std::numeric_limits<double>::infinity())));
      below = choose(goes_on, below - 1.0, below);
    }
    t = choose(is_first, x, choose(is_second, x - 1.0, below - 1.0));
  }
  decltype(T() < T()) is_near, is_first, is_second;
  T t;
};

}  // namespace elementary

/// log(gamma(x)), to 2 ulp; near its zeros with an absolute error of 2^-52.
template <PacketOrDouble T>
inline T lgamma(const T& x) {
  using namespace elementary;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr double terms[] = {
      -0.06735230105319809,    0.020580808427784546,   -0.007385551028674025,   0.0028905103307415424,
      -0.0011927539116998527,  0.0005096695247414077,  -0.00022315475858818615, 9.945751284637129e-05,
      -4.4926233820610826e-05, 2.0507211376332486e-05, -9.439526202058818e-06,  4.374884980416112e-06,
      -2.0389077825677104e-06, 9.54993508309678e-07,   -4.508168225446838e-07,  2.1282474305197616e-07,
      -9.558178101635195e-08,  4.537211788401254e-08,  -3.085985478390577e-08,  1.47455851555312e-08};
  T product(1.0);
  const NearTwo<T> at(x, [&](const T& factor) { product *= choose(factor < infinity, factor, T(1.0)); });
  const T argument = choose(at.is_first, x + x * x, choose(at.is_second, x, choose(at.is_near, product, x)));
  const Parts<T> log_of = log_in_parts(argument);
  const T sign = choose(at.is_second, T(-1.0), T(1.0));
  const T& t = at.t;
  const Parts<T> linear = exact_product(t, T(digamma_of_two));
  const Parts<T> near = exact_sum(sign * log_of.value, linear.value);
  constexpr double half_slope = 0.3224670334241132;
  const Parts<T> square = exact_product(t, t);
  const Parts<T> second = exact_product(square.value, T(half_slope));
  const Parts<T> both = exact_sum(near.value, second.value);
  const T of_near = both.value + ((near.lost + both.lost) + (linear.lost + second.lost) +
                                  (sign * log_of.lost + t * lost_of_digamma_of_two) +
                                  square.value * (t * polynomial(terms, t)) +
                                  (square.lost * half_slope + square.value * 1.520336175199238e-17));
  constexpr double half_log_two_pi = 0.91893853320467274;
  const T s = 1.0 / (x * x);
  const T tail =
      (1.0 / 12 -
       s * (1.0 / 360 -
            s * (1.0 / 1260 - s * (1.0 / 1680 - s * (1.0 / 1188 - s * (691.0 / 360360 - s / 156)))))) /
      x;
  const T shifted = x - 0.5;
  const Parts<T> large = exact_product(shifted, log_of.value);
  const Parts<T> difference = exact_sum<T>(large.value, -x);
  const T of_large =
      difference.value + (difference.lost + large.lost + shifted * log_of.lost + half_log_two_pi + tail);
  constexpr double most = 2.556348163871690586e305;  // beyond it the result is infinite
  const T value = choose(at.is_near, of_near, choose(x > most, x * infinity, of_large));
  return choose(x > 0.0, value, choose(x == 0.0, T(infinity), T(std::numeric_limits<double>::quiet_NaN())));
}

/// digamma(x), to 2 ulp; near its zero with an absolute error of 2^-52.
template <PacketOrDouble T>
inline T digamma(const T& x) {
  using namespace elementary;
  static constexpr double terms[] = {
      -0.2020569031595943,     0.08232323371113819,   -0.03692775514337016,    0.017343061984449258,
      -0.008349277381891347,   0.0040773561979286005, -0.002008392827689148,   0.0009945751286215322,
      -0.0004941885625362978,  0.0002460865325169846, -0.00012271396415738968, 6.124844334041925e-05,
      -3.0582690679307116e-05, 1.52794866647868e-05,  -7.667880302347225e-06,  3.8326342063628945e-06,
      -1.8068484126049946e-06, 9.032811938512726e-07, -6.568346874715467e-07,  3.2839894748058494e-07};
  constexpr double slope = 0.6449340668482264;
  constexpr double lost_of_slope = 3.040672350398476e-17;
  Parts<T> sum{T(digamma_of_two), T(lost_of_digamma_of_two)};
  const auto add = [&](const T& number) {
    const Parts<T> next = exact_sum(sum.value, number);
    sum = {next.value, sum.lost + next.lost};
  };
  const NearTwo<T> at(x, [&](const T& factor) { add(1.0 / factor); });
  const T inverse = 1.0 / x;
  const Parts<T> back = exact_product(inverse, x);
  const T lost_of_inverse = ((1.0 - back.value) - back.lost) * inverse;
  add(choose(at.is_second, -inverse, T(0.0)));
  add(choose(at.is_first, -1.0 / (1.0 + x), T(0.0)));
  const T& t = at.t;
  const Parts<T> linear = exact_product(t, T(slope));
  add(linear.value);
  const T small = sum.lost + linear.lost + t * lost_of_slope + t * t * polynomial(terms, t) -
                  choose(at.is_second & (x > 0.1), lost_of_inverse, T(0.0));
  const T s = inverse * inverse;
  const T tail =
      s *
      (1.0 / 12 -
       s * (1.0 / 120 - s * (1.0 / 252 - s * (1.0 / 240 - s * (1.0 / 132 - s * (691.0 / 32760 - s / 12))))));
  const T value = choose(at.is_near, sum.value + small, log(x) - (0.5 * inverse + tail));
  return choose(x > 0.0, value, choose(x == 0.0, -inverse, T(std::numeric_limits<double>::quiet_NaN())));
}

/// trigamma(x), to 2 ulp.
template <PacketOrDouble T>
inline T trigamma(const T& x) {
  using namespace elementary;
  T to = x;
  Parts<T> sum{T(0.0), T(0.0)};
  const auto is_near = [&] { return (to < stirling_least) & (to > 0.0); };
  double count = 0;
  for (auto goes_on = is_near(); any(goes_on); goes_on = is_near()) {
    const Parts<T> square = exact_product(to, to);
    const T term = 1.0 / square.value;
    const T corrected = choose(square.value > 0.0, term - term * (term * square.lost), term);
    const Parts<T> next = exact_sum<T>(sum.value, choose(goes_on, corrected, T(0.0)));
    sum = {next.value, sum.lost + next.lost};
    to = choose(goes_on, x + ++count, to);
  }
  const T inverse = 1.0 / to;
  const T s = inverse * inverse;
  const T tail =
      s * inverse *
      (1.0 / 6 -
       s * (1.0 / 30 -
            s * (1.0 / 42 -
                 s * (1.0 / 30 - s * (5.0 / 66 - s * (691.0 / 2730 - s * (7.0 / 6 - s * (3617.0 / 510))))))));
  const T value = sum.value + (sum.lost + (inverse + (0.5 * s + tail)));
  return choose(x > 0.0, value,
                choose(x == 0.0, T(std::numeric_limits<double>::infinity()),
                       T(std::numeric_limits<double>::quiet_NaN())));
}

}  // namespace tessera::base

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/math/packet.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

/// Elementary functions of a double or a packet, by one text. They use only additions, multiplications,
/// divisions and operations on bits, so that results have the same bits on every processor; those of libm may
/// have others where it finds fused additions.
///
/// Algorithms: reduction to an interval around 0 with a constant in two parts (Cody and Waite, Software
/// Manual for the Elementary Functions, 1980, ch. 5 and 6), then Taylor's series.
namespace tessera::base {

namespace elementary {

inline constexpr double ln2_high =
    6.93147180369123816490e-01;  // its last 32 bits are zero: k ln2_high is exact
inline constexpr double ln2_low = 1.90821492927058770002e-10;
inline constexpr double to_integer = 6755399441055744.0;  // 1.5 * 2^52: puts an integer into the last bits
inline constexpr std::uint64_t mantissa_bits = 52;
inline constexpr double exponent_bias = 1023;

/// 2^k for an integer k, given as k + 1.5 * 2^52, that is the exponent of a normal number.
template <PacketOrDouble T>
inline T power_of_two(const T& shifted) {
  return number_of<T>(bits_of(shifted + exponent_bias) << mantissa_bits);
}

/// x = k ln(2) + r with |r| at most ln(2) / 2.
template <PacketOrDouble T>
struct Reduced {
  explicit Reduced(const T& x) : shifted(x * 1.4426950408889634 + to_integer) {
    k = shifted - to_integer;
    const T high = x - k * ln2_high;
    r = high - k * ln2_low;
    lost = (high - r) - k * ln2_low;
  }
  /// (e^r - 1 - r) / r^2: Taylor's polynomial of degree 11, by Estrin's scheme.
  [[nodiscard]] T rest() const {
    const T r2 = r * r;
    const T r4 = r2 * r2;
    const T a = r * (1.0 / 6) + 0.5;
    const T b = r * (1.0 / 120) + 1.0 / 24;
    const T c = r * (1.0 / 5040) + 1.0 / 720;
    const T d = r * (1.0 / 362880) + 1.0 / 40320;
    const T e = r * (1.0 / 39916800) + 1.0 / 3628800;
    const T f = r * (1.0 / 6227020800) + 1.0 / 479001600;
    const T low = b * r2 + a;
    const T high = (f * r2 + e) * r4 + (d * r2 + c);
    return high * r4 + low;
  }
  T shifted, k, r;
  T lost;  ///< the rounding of r
};

/// log(x + lost) for a normal x > 0 and a `lost` that is at most its rounding.
template <PacketOrDouble T>
inline T log_of_sum(const T& x, const T& lost) {
  // x = 2^k m with m from sqrt(1/2) to sqrt(2). The exponent with its bias is not negative.
  constexpr std::uint64_t sqrt_half = 0x3FE6A09E667F3BCD;
  constexpr std::uint64_t bias = std::uint64_t{1023} << mantissa_bits;
  const BitsOf<T> bits = bits_of(x);
  const BitsOf<T> exponent = (bits - sqrt_half + bias) >> mantissa_bits;
  const T m = number_of<T>(bits - (exponent << mantissa_bits) + bias);
  const T shifted = number_of<T>(bits_of(T(to_integer)) + exponent);
  const T k = shifted - (to_integer + exponent_bias);
  // log(m + c) for c = 2^-k lost, by the series of atanh: f = m - 1 + c, log = f - s (f - R). What each large
  // sum loses is added to the small terms.
  const T c_lost = lost * power_of_two<T>(to_integer - k);
  const T f = (m - 1.0) + c_lost;
  const T lost_of_f = ((m - 1.0) - f) + c_lost;
  const T s = f / (f + 2.0);
  const T z = s * s;
  const T z2 = z * z;
  const T z4 = z2 * z2;
  const T a = z * (2.0 / 5) + 2.0 / 3;
  const T b = z * (2.0 / 9) + 2.0 / 7;
  const T c = z * (2.0 / 13) + 2.0 / 11;
  const T d = z * (2.0 / 17) + 2.0 / 15;
  const T e = z * (2.0 / 21) + 2.0 / 19;
  const T series = ((e + z2 * (2.0 / 23)) * z4 + (d * z2 + c)) * z4 + (b * z2 + a);
  const T half = f * f * 0.5;
  const T difference = f - half;
  const T whole = k * ln2_high + difference;
  const T lost_of_whole = (k * ln2_high - whole) + difference;
  const T small = s * (half + series * z) + (k * ln2_low + ((f - difference) - half));
  return whole + (small + (lost_of_whole + lost_of_f));
}

}  // namespace elementary

/// e^x, to 1 ulp.
template <PacketOrDouble T>
inline T exp(const T& x) {
  using namespace elementary;
  // Beyond these the result is 0 or infinite. NaN stays NaN.
  const T below = choose(x > 710.0, T(710.0), x);
  const T limited = choose(below < -746.0, T(-746.0), below);
  const Reduced<T> at(limited);
  const T value = (at.rest() * (at.r * at.r) + at.r) + 1.0;
  // 2^k may be no normal number: two factors.
  const T half = at.k * 0.5 + to_integer;
  return (value * power_of_two<T>(half)) * power_of_two<T>(at.k - (half - to_integer) + to_integer);
}

/// e^x - 1, to 1 ulp.
template <PacketOrDouble T>
inline T expm1(const T& x) {
  using namespace elementary;
  const T below = choose(x > 710.0, T(710.0), x);
  const T limited = choose(below < -50.0, T(-50.0), below);
  const Reduced<T> at(limited);
  // Half the result, since 2^k may be infinite where the result is not. What the large sum loses is added to
  // the small terms.
  const T power = power_of_two<T>(at.shifted - 1.0);
  const T base = power - 0.5;
  const T whole = base + power * at.r;
  const T lost = (base - whole) + power * at.r;
  const T half = whole + (lost + power * (at.rest() * (at.r * at.r) + at.lost));
  constexpr double tiny = 1e-17;
  return choose(fabs(x) < tiny, x, half + half);
}

/// log(x), to 1 ulp.
template <PacketOrDouble T>
inline T log(const T& x) {
  using namespace elementary;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double least_normal = std::numeric_limits<double>::min();
  constexpr double scale = 0x1p54;
  const auto small = x < least_normal;
  const T normal = choose(small, x * scale, x);
  const T value = log_of_sum<T>(normal, T(0.0));
  const T unscaled = choose(small, value - 54 * (ln2_high + ln2_low), value);
  const T finite = choose(x < infinity, unscaled, x);
  return choose(x > 0.0, finite, choose(x == 0.0, T(-infinity), T(std::numeric_limits<double>::quiet_NaN())));
}

/// log(1 + x), to 1 ulp.
template <PacketOrDouble T>
inline T log1p(const T& x) {
  using namespace elementary;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const T u = x + 1.0;
  const T rounded = u - x;
  const T lost = (x - (u - rounded)) + (1.0 - rounded);  // 1 + x = u + lost, exactly
  const T finite = choose(x < infinity, log_of_sum<T>(u, lost), x);
  return choose(x > -1.0, finite,
                choose(x == -1.0, T(-infinity), T(std::numeric_limits<double>::quiet_NaN())));
}

/// sinh(x), to 3 ulp.
template <PacketOrDouble T>
inline T sinh(const T& x) {
  const T size = fabs(x);
  const T less_one = expm1(size);
  const T root = exp(0.5 * size);  // finite where e^size is not
  const T value = choose(size > 700.0, (0.5 * root) * root, 0.5 * (less_one + less_one / (less_one + 1.0)));
  return choose(x < 0.0, -value, value);
}

/// cosh(x), to 3 ulp.
template <PacketOrDouble T>
inline T cosh(const T& x) {
  const T root = exp(0.5 * fabs(x));
  const T power = root * root;
  return choose(fabs(x) > 700.0, (0.5 * root) * root, 0.5 * (power + 1.0 / power));
}

/// tanh(x), to 3 ulp.
template <PacketOrDouble T>
inline T tanh(const T& x) {
  const T less_one = expm1(-2.0 * fabs(x));
  const T value = -less_one / (less_one + 2.0);
  return choose(x < 0.0, -value, value);
}

/// asinh(x), to 3 ulp.
template <PacketOrDouble T>
inline T asinh(const T& x) {
  const T size = fabs(x);
  const T square = size * size;
  constexpr double large = 1e150;  // whose square is finite
  const T value = choose(size > large, log(size) + (elementary::ln2_high + elementary::ln2_low),
                         log1p(size + square / (1.0 + sqrt(1.0 + square))));
  return choose(x < 0.0, -value, value);
}

}  // namespace tessera::base

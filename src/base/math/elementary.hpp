// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/math/packet.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

/// Elementary functions of a double or a packet, by the same templates. They use only additions,
/// multiplications, divisions, square roots and bit operations, so results have the same bits on every
/// processor. Results of libm may differ between processors with and without fused multiply-add.
///
/// Algorithms: reduction to an interval around 0 with a constant in two parts (Cody and Waite, Software
/// Manual for the Elementary Functions, 1980, ch. 5 and 6), then Taylor's series.
namespace tessera::base {

namespace elementary {

inline constexpr double ln2_high =
    6.93147180369123816490e-01;  // its last 21 bits are zero: k ln2_high is exact
inline constexpr double ln2_low = 1.90821492927058770002e-10;
inline constexpr double to_integer = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer
inline constexpr std::uint64_t mantissa_bits = 52;
inline constexpr double exponent_bias = 1023;

/// 2^k for an integer k in the exponent range of normal numbers. `shifted` is k + 1.5 * 2^52.
template <PacketOrDouble T>
TESSERA_INLINE T power_of_two(const T& shifted) {
  return number_of<T>(bits_of(shifted + exponent_bias) << mantissa_bits);
}

/// x = k ln(2) + r with |r| at most ln(2) / 2.
template <PacketOrDouble T>
struct Reduced {
  TESSERA_INLINE explicit Reduced(const T& x) : shifted(x * 1.4426950408889634 + to_integer) {
    k = shifted - to_integer;
    const T high = x - k * ln2_high;
    r = high - k * ln2_low;
    lost = (high - r) - k * ln2_low;
  }
  /// (e^r - 1 - r) / r^2: Taylor's polynomial of degree 11, by Estrin's scheme.
  [[nodiscard]] TESSERA_INLINE T rest() const {
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
  [[nodiscard]] TESSERA_INLINE T power() const { return (rest() * (r * r) + r) + 1.0; }
  T shifted, k, r;
  T lost;  ///< the rounding error of r
};

/// x = 2^k m with m from sqrt(1/2) to sqrt(2), for a normal x > 0.
template <PacketOrDouble T>
struct Scaled {
  TESSERA_INLINE explicit Scaled(const T& x) {
    // The biased exponent is not negative, so a logical shift suffices.
    constexpr std::uint64_t sqrt_half = 0x3FE6A09E667F3BCD;
    constexpr std::uint64_t bias = std::uint64_t{1023} << mantissa_bits;
    const BitsOf<T> bits = bits_of(x);
    const BitsOf<T> exponent = (bits - sqrt_half + bias) >> mantissa_bits;
    m = number_of<T>(bits - (exponent << mantissa_bits) + bias);
    const T shifted = number_of<T>(bits_of(T(to_integer)) + exponent);
    k = shifted - (to_integer + exponent_bias);
  }
  T k, m;
};

/// log(x + lost) for a normal x > 0, where `lost` is at most the rounding error of x.
template <PacketOrDouble T>
TESSERA_INLINE T log_of_sum(const T& x, const T& lost) {
  const auto [k, m] = Scaled<T>(x);
  // log(m + c) for c = 2^-k lost, by the series of atanh: with f = m - 1 + c, s = f / (2 + f) and
  // R = z series(z) at z = s^2, the logarithm is f - s (f - R) = f - f^2/2 + s (f^2/2 + R). The rounding
  // errors of large sums are added to the small terms.
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

/// A double-double number: `value + lost`, where `lost` is at most the rounding error of `value`.
template <PacketOrDouble T>
struct Parts {
  T value, lost;
};
/// a + b exactly, by TwoSum (Knuth, The Art of Computer Programming, vol. 2, 4.2.2).
template <PacketOrDouble T>
inline Parts<T> exact_sum(const T& a, const T& b) {
  const T sum = a + b;
  const T of_b = sum - a;
  return {sum, (a - (sum - of_b)) + (b - of_b)};
}
/// a b with a relative error of 2^-106, by splitting the factors into 26 and 27 bits (Dekker, Numerische
/// Mathematik 18 (1971)).
template <PacketOrDouble T>
inline Parts<T> exact_product(const T& a, const T& b) {
  constexpr std::uint64_t upper = ~std::uint64_t{0x7FFFFFF};
  const T a_high = number_of<T>(bits_of(a) & upper);
  const T b_high = number_of<T>(bits_of(b) & upper);
  const T a_low = a - a_high;
  const T b_low = b - b_high;
  const T product = a * b;
  return {product, ((a_high * b_high - product) + (a_high * b_low + a_low * b_high)) + a_low * b_low};
}

/// The polynomial with coefficients `terms`, in ascending powers, by Horner steps of x^4.
template <PacketOrDouble T, std::size_t count>
inline T polynomial(const double (&terms)[count], const T& x) {
  static_assert(count % 4 == 0);
  const T x2 = x * x;
  const T x4 = x2 * x2;
  T sum(0.0);
#pragma GCC unroll 8
  for (std::size_t i = count; i > 0; i -= 4) {
    const T high = x * terms[i - 1] + terms[i - 2];
    const T low = x * terms[i - 3] + terms[i - 4];
    sum = sum * x4 + (high * x2 + low);
  }
  return sum;
}

/// e^(x + lost), where `lost` is at most the rounding error of x. The error of `value` is 0.6 ulp; that of
/// `value + lost` in the result is 0.2 ulp.
template <PacketOrDouble T>
inline Parts<T> exp_of_sum(const T& x, const T& lost) {
  // Outside [-746, 710] the result is 0 or infinite. NaN stays NaN.
  const T below = choose(x > 710.0, T(710.0), x);
  const T limited = choose(below < -746.0, T(-746.0), below);
  Reduced<T> at(limited);
  const Parts<T> r = exact_sum(at.r, at.lost + choose(limited == x, lost, T(0.0)));
  at.r = r.value;
  const T whole = at.r + 1.0;
  const T small = ((1.0 - whole) + at.r) + (at.rest() * (at.r * at.r) + r.lost);
  const T value = whole + small;
  // Two factors, because 2^k may be subnormal or overflow.
  const T half = at.k * 0.5 + to_integer;
  const T one = power_of_two<T>(half);
  const T other = power_of_two<T>(at.k - (half - to_integer) + to_integer);
  return {(value * one) * other, (((whole - value) + small) * one) * other};
}

/// log(x) for a finite x > 0, with a relative error of 2^-63: the first two terms of the atanh series are
/// double-double.
template <PacketOrDouble T>
inline Parts<T> log_in_parts(const T& x) {
  constexpr double least_normal = std::numeric_limits<double>::min();
  const auto is_small = x < least_normal;
  const auto [scaled_k, m] = Scaled<T>(choose(is_small, x * 0x1p54, x));
  const T k = scaled_k - choose(is_small, T(54.0), T(0.0));
  const T f = m - 1.0;
  const T sum = m + 1.0;
  const T s = f / sum;
  const Parts<T> back = exact_product(s, sum);
  const T s_lost = (((f - back.value) - back.lost) - s * (m - (sum - 1.0))) / sum;
  const Parts<T> z = exact_product(s, s);
  const Parts<T> cube = exact_product(z.value, s);
  const T cube_lost = cube.lost + (z.lost * s + 3.0 * (z.value * s_lost));
  constexpr double two_thirds = 2.0 / 3;
  constexpr double lost_of_two_thirds = 0x1.5555555555555p-55;
  const Parts<T> second = exact_product(cube.value, T(two_thirds));
  const T z2 = z.value * z.value;
  const T z4 = z2 * z2;
  const T a = z.value * (2.0 / 7) + 2.0 / 5;
  const T b = z.value * (2.0 / 11) + 2.0 / 9;
  const T c = z.value * (2.0 / 15) + 2.0 / 13;
  const T d = z.value * (2.0 / 19) + 2.0 / 17;
  const T e = z.value * (2.0 / 23) + 2.0 / 21;
  const T rest = (cube.value * z.value) * ((e * z4 + (d * z2 + c)) * z4 + (b * z2 + a));
  const Parts<T> first = exact_sum(k * ln2_high, 2.0 * s);
  const Parts<T> both = exact_sum(first.value, second.value);
  const T small = (first.lost + both.lost) +
                  (second.lost + cube.value * lost_of_two_thirds + cube_lost * two_thirds + 2.0 * s_lost);
  const Parts<T> third = exact_sum(both.value, rest);
  const Parts<T> fourth = exact_sum(third.value, k * ln2_low);
  const T lost = (third.lost + fourth.lost) + small;
  const T value = fourth.value + lost;
  return {value, (fourth.value - value) + lost};
}

}  // namespace elementary

/// e^x, to 1 ulp.
template <PacketOrDouble T>
inline T exp(const T& x) {
  using namespace elementary;
  // Outside [-746, 710] the result is 0 or infinite. NaN stays NaN.
  const T below = choose(x > 710.0, T(710.0), x);
  const T limited = choose(below < -746.0, T(-746.0), below);
  const Reduced<T> at(limited);
  const T value = at.power();
  // Two factors, because 2^k may be subnormal or overflow.
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
  // Computes half the result, because 2^k may overflow although the result does not. The rounding error of
  // the large sum is added to the small terms.
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

namespace elementary {
/// log(x) times `factor + lost_of_factor`.
template <PacketOrDouble T>
inline T scaled_log(const T& x, double factor, double lost_of_factor) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Parts<T> log_x = log_in_parts(x);
  const Parts<T> product = exact_product(log_x.value, T(factor));
  const T value = product.value + (product.lost + log_x.lost * factor + log_x.value * lost_of_factor);
  return choose((x > 0.0) & (x < infinity), value, log(x));
}

/// log(1 + x) for -1 < x < infinity.
template <PacketOrDouble T>
TESSERA_INLINE T finite_log1p(const T& x) {
  const T u = x + 1.0;
  const T rounded = u - x;
  return log_of_sum<T>(u, (x - (u - rounded)) + (1.0 - rounded));  // 1 + x = u + lost, exactly
}
}  // namespace elementary

/// log(1 + x), to 1 ulp.
template <PacketOrDouble T>
inline T log1p(const T& x) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const T finite = choose(x < infinity, elementary::finite_log1p(x), x);
  return choose(x > -1.0, finite,
                choose(x == -1.0, T(-infinity), T(std::numeric_limits<double>::quiet_NaN())));
}

/// sinh(x), to 3 ulp.
template <PacketOrDouble T>
inline T sinh(const T& x) {
  const T size = fabs(x);
  const T less_one = expm1(size);
  const T root = exp(0.5 * size);  // finite although e^size may overflow
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
  constexpr double large = 1e150;  // its square is finite
  const T value = choose(size > large, log(size) + (elementary::ln2_high + elementary::ln2_low),
                         log1p(size + square / (1.0 + sqrt(1.0 + square))));
  return choose(x < 0.0, -value, value);
}

template <PacketOrDouble T>
inline T floor(const T& x) {
  constexpr double no_fraction = 0x1p52;  // larger doubles are integers
  const T size = fabs(x);
  const T near = (size + no_fraction) - no_fraction;
  const T nearest = choose(x < 0.0, -near, near);
  return choose(size >= no_fraction, x, nearest - choose(nearest > x, T(1.0), T(0.0)));
}

/// Whether x is an integer or infinite.
template <PacketOrDouble T>
inline auto is_whole(const T& x) {
  return floor(x) == x;
}

/// x^y, to 1 ulp, with the special values of C.
template <PacketOrDouble T>
inline T pow(const T& x, const std::type_identity_t<T>& y) {
  using namespace elementary;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double most = 0x1p65;  // beyond it the result is 0, 1 or infinite
  const T size = fabs(x);
  const Parts<T> log_size = log_in_parts(size);
  const T exponent = choose(y > most, T(most), choose(y < -most, T(-most), y));
  const Parts<T> product = exact_product(exponent, log_size.value);
  const T power = exp_of_sum(product.value, product.lost + exponent * log_size.lost).value;
  const T finite = choose(size < infinity, power, choose(y > 0.0, size, 1.0 / size));
  const T value = choose(size == 0.0, choose(y > 0.0, T(0.0), T(infinity)), finite);
  // x^y has the sign of x if y is an odd integer.
  const auto whole = is_whole<T>(y);
  const T other = choose(is_whole<T>(0.5 * y), T(0.0), choose(whole, x, T(0.0)));
  const T with_sign = number_of<T>(bits_of(value) | (bits_of(other) & (std::uint64_t{1} << 63)));
  const T real = choose(x < 0.0, choose(whole, with_sign, choose(size < infinity, T(nan), value)), with_sign);
  const auto is_number = (y <= 0.0) | (y > 0.0);
  return choose((y == 0.0) | (x == 1.0), T(1.0), choose(is_number, real, y));
}

/// log(x) / log(2), to 1 ulp.
template <PacketOrDouble T>
inline T log2(const T& x) {
  return elementary::scaled_log<T>(x, 0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56);
}
/// log(x) / log(10), to 1 ulp.
template <PacketOrDouble T>
inline T log10(const T& x) {
  return elementary::scaled_log<T>(x, 0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57);
}

}  // namespace tessera::base

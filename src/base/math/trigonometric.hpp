// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/math/elementary.hpp"

#include <cmath>
#include <cstdint>

/// Sine, cosine, tangent and arctangent of a double or a packet: see elementary.hpp.
///
/// Algorithms: reduction by pi/2 in four parts (Cody and Waite, Software Manual for the Elementary Functions,
/// 1980, ch. 8) or, for large arguments, by the bits of 2/pi that matter (Payne and Hanek, SIGNUM Newsletter
/// 18 (1983)); then Taylor's series. The arctangent is reduced to that of a small quotient (ch. 11); its
/// polynomial interpolates at Chebyshev points.
namespace tessera::base {

namespace elementary {

inline constexpr double half_pi = 0x1.921fb54442d18p+0;
inline constexpr double lost_of_half_pi = 0x1.1a62633145c07p-54;

/// x = k pi/2 + r + lost, with |r| at most pi/4; `quadrant` has the last bits of k.
template <PacketOrDouble T>
struct Angle {
  explicit Angle(const T& x) {
    constexpr double most = 0x1p20;  // beyond it the products with k are not exact
    const T near = choose(fabs(x) > most, T(0.0), x);
    const T shifted = near * 0.63661977236758134 + to_integer;
    const T k = shifted - to_integer;
    // The first three parts of pi/2 have 33 bits, so that their products with k are exact.
    const T first = near - k * 0x1.921fb544p+0;
    const Parts<T> second = exact_sum(first, k * -0x1.0b4611a6p-34);
    const Parts<T> third = exact_sum(second.value, k * -0x1.3198a2ep-69);
    const T small = (second.lost + third.lost) - k * 0x1.b839a252049c1p-104;
    r = third.value + small;
    lost = (third.value - r) + small;
    quadrant = bits_of(shifted);
    const auto is_far = fabs(x) > most;
    if (!any(is_far)) return;
    const T far = choose(is_far, x, T(2 * most));
    const auto part = [&](double Far::*which) {
      return each(far, [&](double one) { return Far(one).*which; });
    };
    r = choose(is_far, part(&Far::r), r);
    lost = choose(is_far, part(&Far::lost), lost);
    quadrant = bits_of(choose(is_far, part(&Far::shifted), shifted));
  }
  T r, lost;
  BitsOf<T> quadrant;

 private:
  /// The reduction of x = m 2^e for |x| > 2^20: m times 192 bits of 2/pi. Earlier bits of 2/pi contribute
  /// whole turns.
  struct Far {
    explicit Far(double x) {
      static constexpr std::uint64_t two_over_pi[] = {0,
                                                      0xA2F9836E4E441529,
                                                      0xFC2757D1F534DDC0,
                                                      0xDB6295993C439041,
                                                      0xFE5163ABDEBBC561,
                                                      0xB7246E3A424DD2E0,
                                                      0x06492EEA09D1921C,
                                                      0xFE1DEB1CB129A73E,
                                                      0xE88235F52EBB4484,
                                                      0xE99C7026B45F7E41,
                                                      0x3991D639835339F4,
                                                      0x9C845F8BBDF9283B,
                                                      0x1FF897FFDE05980F,
                                                      0xEF2F118B5A0A6D1F,
                                                      0x6D367ECF27CB09B7,
                                                      0x4F463F669E5FEA2D,
                                                      0x7527BAC7EBE5F17B,
                                                      0x3D0739F78A5292EA,
                                                      0x6BFB5FB11F8D5D08,
                                                      0x56033046FC7B6BAB};
      __extension__ using Wide = unsigned __int128;
      constexpr std::uint64_t one = 1;
      const std::uint64_t bits = bits_of(x);
      const int e = static_cast<int>(bits >> mantissa_bits & 0x7FF) - 1075;
      if (e > 971) {  // infinite
        r = lost = shifted = x - x;
        return;
      }
      const std::uint64_t m = (bits & ((one << mantissa_bits) - 1)) | one << mantissa_bits;
      const auto word = [&](int i) {
        const int from = e + 62;
        const std::uint64_t* const first = two_over_pi + from / 64 + i;
        const int shift = from % 64;
        return shift == 0 ? *first : *first << shift | first[1] >> (64 - shift);
      };
      // The product modulo 4, times 2^126.
      const Wide low = Wide{m} * word(2);
      const Wide product =
          (Wide{m * word(0)} << 64) + Wide{m} * word(1) + static_cast<std::uint64_t>(low >> 64);
      const std::uint64_t k = (static_cast<std::uint64_t>(product >> 64) + (one << 61)) >> 62;
      const Wide fraction = product - (Wide{k} << 126);
      const auto high = static_cast<std::int64_t>(fraction >> 64);
      const auto value = static_cast<double>(high);
      const double rest = static_cast<double>(high - static_cast<std::int64_t>(value)) * 0x1p64 +
                          static_cast<double>(static_cast<std::uint64_t>(fraction));
      const Parts<double> quadrants = exact_sum(value * 0x1p64, rest);
      const double unit = x < 0 ? -0x1p-126 : 0x1p-126;
      const Parts<double> angle = exact_product(quadrants.value * unit, half_pi);
      r = angle.value;
      lost = angle.lost + (quadrants.value * unit * lost_of_half_pi + quadrants.lost * unit * half_pi);
      shifted = to_integer + (x < 0 ? -1 : 1) * static_cast<double>(k);
    }
    double r, lost, shifted;
  };
};

/// Sine and cosine of r + lost, for |r| at most pi/4.
template <PacketOrDouble T>
inline Parts<T> near_sine(const T& r, const T& lost) {
  const T z = r * r;
  const T z2 = z * z;
  const T a = z * (1.0 / 120) - 1.0 / 6;
  const T b = z * (1.0 / 362880) - 1.0 / 5040;
  const T c = z * (1.0 / 6227020800) - 1.0 / 39916800;
  const T d = z * (1.0 / 355687428096000) - 1.0 / 1307674368000;
  const T series = ((d * z2 + c) * z2 + b) * z2 + a;
  const T small = lost * (1.0 - 0.5 * z) + r * z * series;
  const T value = r + small;
  return {value, (r - value) + small};
}
template <PacketOrDouble T>
inline Parts<T> near_cosine(const T& r, const T& lost) {
  const T z = r * r;
  const T z2 = z * z;
  const T a = 1.0 / 24 - z * (1.0 / 720);
  const T b = 1.0 / 40320 - z * (1.0 / 3628800);
  const T c = 1.0 / 479001600 - z * (1.0 / 87178291200);
  const T d = 1.0 / 20922789888000 - z * (1.0 / 6402373705728000);
  const T series = ((d * z2 + c) * z2 + b) * z2 + a;
  const T half = 0.5 * z;
  const T most = 1.0 - half;
  const T small = ((1.0 - most) - half) + (z2 * series - r * lost);
  const T value = most + small;
  return {value, (most - value) + small};
}

template <PacketOrDouble T>
struct SineAndCosine {
  explicit SineAndCosine(const T& x) {
    const Angle<T> at(x);
    const Parts<T> s = near_sine(at.r, at.lost);
    const Parts<T> c = near_cosine(at.r, at.lost);
    // Bit 0 of the quadrant swaps sine and cosine, bit 1 is the sign.
    const auto negated = [](const T& number, const BitsOf<T>& bits) {
      return number_of<T>(bits_of(number) ^ ((bits << 62) & (std::uint64_t{1} << 63)));
    };
    const T parity = number_of<T>((at.quadrant & 1) + bits_of(T(1.0)));
    const auto swaps = parity > 1.0;
    const auto of_quadrant = [&](const Parts<T>& even, const Parts<T>& odd, const BitsOf<T>& bits) {
      return Parts<T>{negated(choose(swaps, odd.value, even.value), bits),
                      negated(choose(swaps, odd.lost, even.lost), bits)};
    };
    sine = of_quadrant(s, c, at.quadrant);
    cosine = of_quadrant(c, s, at.quadrant + 1);
  }
  Parts<T> sine, cosine;
};

}  // namespace elementary

/// sin(x), to 1 ulp.
template <PacketOrDouble T>
inline T sin(const T& x) {
  return choose(x == 0.0, x, elementary::SineAndCosine<T>(x).sine.value);
}

/// cos(x), to 1 ulp.
template <PacketOrDouble T>
inline T cos(const T& x) {
  return elementary::SineAndCosine<T>(x).cosine.value;
}

/// tan(x), to 2 ulp.
template <PacketOrDouble T>
inline T tan(const T& x) {
  const elementary::SineAndCosine<T> at(x);
  const T quotient = at.sine.value / at.cosine.value;
  const elementary::Parts<T> back = elementary::exact_product(quotient, at.cosine.value);
  const T rest = ((at.sine.value - back.value) - back.lost) + (at.sine.lost - quotient * at.cosine.lost);
  return choose(x == 0.0, x, quotient + rest / at.cosine.value);
}

/// atan(x), to 1 ulp.
template <PacketOrDouble T>
inline T atan(const T& x) {
  using namespace elementary;
  // atan(x) = atan(c) + atan((x - c) / (1 + c x)) for c = 0, 1/2, 1, 3/2 or infinity.
  const T size = fabs(x);
  T above = size;
  T below(1.0);
  T whole(0.0);
  T lost(0.0);
  const auto take = [&](double from, const T& p, const T& q, double atan_c, double lost_of_atan_c) {
    const auto here = size >= from;
    above = choose(here, p, above);
    below = choose(here, q, below);
    whole = choose(here, T(atan_c), whole);
    lost = choose(here, T(lost_of_atan_c), lost);
  };
  take(0.4375, 2.0 * size - 1.0, 2.0 + size, 0x1.dac670561bb4fp-2, 0x1.a2b7f222f65e2p-56);
  take(0.6875, size - 1.0, size + 1.0, 0.5 * half_pi, 0.5 * lost_of_half_pi);
  take(1.1875, size - 1.5, 1.0 + 1.5 * size, 0x1.f730bd281f69bp-1, 0x1.007887af0cbbdp-56);
  take(2.4375, T(-1.0), size, half_pi, lost_of_half_pi);
  const T t = above / below;
  const T z = t * t;
  const T z2 = z * z;
  const T z4 = z2 * z2;
  const T a = z * 0.1999999999998777 - 0.33333333333333326;
  const T b = z * 0.11111110900560475 - 0.1428571428314864;
  const T c = z * 0.07692087348767168 - 0.09090900195560148;
  const T d = z * 0.05847724720645106 - 0.06663239299107136;
  const T e = z * 0.03782521866106712 - 0.05033942776485848;
  const T series = ((e - z2 * 0.017547235157290005) * z4 + (d * z2 + c)) * z4 + (b * z2 + a);
  const T value = whole + (t + (t * z * series + lost));
  return choose(x < 0.0, -value, choose(x == 0.0, x, value));
}

}  // namespace tessera::base

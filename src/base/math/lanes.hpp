// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>

/// Elementary functions of eight doubles at a time (SIMD). They use only additions, multiplications,
/// divisions and bit operations, so that results have the same bits for any register width (the project is
/// compiled without contraction to fused operations).
///
/// Call them from functions marked TESSERA_LANE_CLONES, into which they are inlined.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define TESSERA_LANE_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define TESSERA_LANE_CLONES
#endif
#define TESSERA_LANE_INLINE [[gnu::always_inline]] inline

// Lanes are passed only between inlined functions, so the calling convention does not matter.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace tessera::base {

inline constexpr int lane_count = 8;
using Lanes = double __attribute__((vector_size(lane_count * sizeof(double))));
using LaneBits = std::uint64_t __attribute__((vector_size(lane_count * sizeof(double))));

TESSERA_LANE_INLINE Lanes all_lanes(double value) {
  return Lanes{} + value;
}
TESSERA_LANE_INLINE Lanes load_lanes(const double* from) {
  Lanes value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}
TESSERA_LANE_INLINE void store_lanes(double* to, const Lanes& value) {
  std::memcpy(to, &value, sizeof(value));
}
/// The smaller or the larger of two values, by halves: where registers have 256 bits, GCC compares wider
/// values one lane at a time.
template <bool larger>
TESSERA_LANE_INLINE Lanes choose_lanes(const Lanes& a, const Lanes& b) {
  using Half = double __attribute__((vector_size(sizeof(Lanes) / 2)));
  Half x[2];
  Half y[2];
  std::memcpy(x, &a, sizeof(a));
  std::memcpy(y, &b, sizeof(b));
  for (int i = 0; i < 2; ++i) {
    if constexpr (larger)
      x[i] = x[i] > y[i] ? x[i] : y[i];
    else
      x[i] = x[i] < y[i] ? x[i] : y[i];
  }
  Lanes value;
  std::memcpy(&value, x, sizeof(value));
  return value;
}
TESSERA_LANE_INLINE Lanes min_lanes(const Lanes& a, const Lanes& b) {
  return choose_lanes<false>(a, b);
}
TESSERA_LANE_INLINE Lanes max_lanes(const Lanes& a, const Lanes& b) {
  return choose_lanes<true>(a, b);
}
/// The sum of the lanes, in a fixed order.
TESSERA_LANE_INLINE double sum_of_lanes(const Lanes& v) {
  return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
}

/// `size`, which must be at least 0, with the sign of another value.
TESSERA_LANE_INLINE Lanes with_sign(const Lanes& size, const Lanes& sign) {
  constexpr std::uint64_t sign_bit = std::uint64_t{1} << 63;
  LaneBits bits;
  LaneBits bits_of_sign;
  std::memcpy(&bits, &size, sizeof(bits));
  std::memcpy(&bits_of_sign, &sign, sizeof(bits_of_sign));
  bits |= bits_of_sign & sign_bit;
  Lanes value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

/// e^x to 1 ulp for |x| <= 700; a larger |x| counts as 700.
TESSERA_LANE_INLINE Lanes exp_lanes(const Lanes& exponent) {
  constexpr double log2_e = 1.4426950408889634;
  constexpr double ln2_high = 6.93147180369123816490e-01;  // its last 32 bits are zero: k ln2_high is exact
  constexpr double ln2_low = 1.90821492927058770002e-10;
  constexpr double to_integer = 6755399441055744.0;  // 1.5 * 2^52: puts an integer into the last bits
  const Lanes most = all_lanes(700);
  const Lanes x = max_lanes(-most, min_lanes(most, exponent));  // in this order, NaN stays NaN
  const Lanes shifted = x * log2_e + to_integer;
  const Lanes k = shifted - to_integer;
  const Lanes r = (x - k * ln2_high) - k * ln2_low;
  // Taylor's polynomial of degree 13 by Estrin's scheme: |r| <= ln(2) / 2.
  const Lanes r2 = r * r;
  const Lanes r4 = r2 * r2;
  const Lanes a = r * (1.0 / 6) + 0.5;
  const Lanes b = r * (1.0 / 120) + 1.0 / 24;
  const Lanes c = r * (1.0 / 5040) + 1.0 / 720;
  const Lanes d = r * (1.0 / 362880) + 1.0 / 40320;
  const Lanes e = r * (1.0 / 39916800) + 1.0 / 3628800;
  const Lanes f = r * (1.0 / 6227020800) + 1.0 / 479001600;
  const Lanes low = b * r2 + a;
  const Lanes high = (f * r2 + e) * r4 + (d * r2 + c);
  const Lanes value = ((high * r4 + low) * r2 + r) + 1.0;
  LaneBits bits;
  LaneBits power;
  std::memcpy(&bits, &value, sizeof(bits));
  std::memcpy(&power, &shifted, sizeof(power));
  bits += power << 52;
  Lanes scaled;
  std::memcpy(&scaled, &bits, sizeof(scaled));
  return scaled;
}

/// log(1 + x) for x >= 0, to 2 ulp.
TESSERA_LANE_INLINE Lanes log1p_lanes(const Lanes& x) {
  constexpr double ln2_high = 6.93147180369123816490e-01;
  constexpr double ln2_low = 1.90821492927058770002e-10;
  const Lanes u = x + 1.0;
  const Lanes rounded = u - x;
  const Lanes lost = (x - (u - rounded)) + (1.0 - rounded);  // 1 + x = u + lost, exactly
  LaneBits bits;
  std::memcpy(&bits, &u, sizeof(bits));
  // u = 2^k m with m from sqrt(1/2) to sqrt(2).
  constexpr std::uint64_t sqrt_half = 0x3FE6A09E667F3BCD;
  const LaneBits above = bits - sqrt_half;
  const LaneBits k = above >> 52;
  const LaneBits mantissa = bits - (k << 52);
  Lanes m;
  std::memcpy(&m, &mantissa, sizeof(m));
  const LaneBits negative_power = (1023 - k) << 52;
  Lanes scale;
  std::memcpy(&scale, &negative_power, sizeof(scale));
  // k as a double, from the last bits of a sum with 1.5 * 2^52.
  constexpr double to_integer = 6755399441055744.0;
  LaneBits shifted_bits;
  const Lanes origin = all_lanes(to_integer);
  std::memcpy(&shifted_bits, &origin, sizeof(shifted_bits));
  shifted_bits += k;
  Lanes power;
  std::memcpy(&power, &shifted_bits, sizeof(power));
  power -= to_integer;
  // log(m + c) for the lost part c, by the series of atanh: f = m - 1 + c, log = f - s (f - R).
  const Lanes f = (m - 1.0) + lost * scale;
  const Lanes s = f / (f + 2.0);
  const Lanes z = s * s;
  Lanes series = all_lanes(2.0 / 23);
#pragma GCC unroll 10  // as a loop, GCC would divide in each step
  for (int j = 21; j >= 3; j -= 2) series = series * z + 2.0 / j;
  const Lanes half = f * f * 0.5;
  return power * ln2_high + ((f - (half - s * (half + series * z))) + power * ln2_low);
}

}  // namespace tessera::base

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/math/elementary.hpp"

#include <cstdint>
#include <cstring>

/// Eight doubles at a time (SIMD), with the functions of elementary.hpp. Results have the same bits for any
/// register width, because the project is compiled with -ffp-contract=off.
///
/// Callers are functions marked TESSERA_LANE_CLONES, which inline them.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define TESSERA_LANE_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define TESSERA_LANE_CLONES
#endif
#define TESSERA_LANE_INLINE TESSERA_INLINE

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
/// Lane-wise minimum or maximum, by halves: for 256-bit registers, GCC compares wider vectors one lane at a
/// time.
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

/// `size`, which must not be negative, with the sign of `sign`.
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

/// e^x to 1 ulp; x is clamped to [-700, 700].
TESSERA_LANE_INLINE Lanes exp_lanes(const Lanes& exponent) {
  using Eight = Packet<lane_count>;
  const Lanes most = all_lanes(700);
  // This order of min and max propagates NaN.
  const elementary::Reduced<Eight> at(Eight(max_lanes(-most, min_lanes(most, exponent))));
  const BitsOf<Eight> k = bits_of(at.shifted) << elementary::mantissa_bits;
  return number_of<Eight>(bits_of(at.power()) + k).numbers;
}

/// log(1 + x) for x >= 0, to 1 ulp.
TESSERA_LANE_INLINE Lanes log1p_lanes(const Lanes& x) {
  return elementary::finite_log1p(Packet<lane_count>(x)).numbers;
}

}  // namespace tessera::base

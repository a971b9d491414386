// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <bit>
#include <cstdint>
#include <limits>

/// The arithmetic of `ReproducibleSum`, one element at a time, for host and device code: nvcc takes
/// `constexpr` functions into kernels with --expt-relaxed-constexpr, NVRTC with
/// --device-as-default-execution-space and `standard_headers()`.
///
///     SumElement sum;                                     // a CUDA thread may hold one
///     for (double x : summands) add_to(sum, x);
///     double total = rounded(sum);
///
/// All quantities are integers in units of the smallest subnormal, 2^-1074. Position k has the weight 2^(32
/// k), and a finite double covers at most three positions with 32-bit slices. An element holds four bins, for
/// the positions `top, top - 1, top - 2, top - 3`, where `top` is the highest position of any summand so far.
/// Why the order does not matter:
///
///   - a summand's slices and its own top depend only on the summand;
///   - `top` only grows, and ends as the highest of the summands' tops, T, in any order;
///   - a slice at position k is in a bin at the end exactly if k > T - 4. If k > T - 4, `top` never exceeded
///     k + 3, so the slice was added and never shifted out. If k <= T - 4, the slice was skipped, or shifted
///     out when `top` reached T, together with everything else at its position;
///   - slices at one position are added as integers, without carries between positions.
///
/// A slice is below 2^32, so 2^30 summands keep every bin below 2^62 in absolute value. All slices of a
/// negative number are negative, so that the slices of x and -x cancel. An infinite or NaN summand has a top
/// above all others: it shifts all bins out, and later slices are skipped.
namespace TESSERA_NAMESPACE {

inline constexpr int sum_bin_count = 4;  ///< bins of an element
inline constexpr int sum_bin_bits = 32;  ///< bits between the positions of neighbouring bins

/// The running sum of one element of the vector.
struct SumElement {
  /// `top` of an element with an infinite or NaN summand.
  static constexpr std::int32_t not_finite = 1 << 16;

  std::int32_t top = -1;  ///< -1: nothing was added
  std::int64_t bins[sum_bin_count] = {};
};

/// A double as three slices, at the positions `top`, `top - 1` and `top - 2`.
struct SumSlices {
  std::int32_t top;
  std::int64_t high;
  std::int64_t middle;
  std::int64_t low;
};

/// The slices of `x`; if `x` is infinite or NaN, zeros with the top `SumElement::not_finite`.
[[nodiscard]] constexpr SumSlices slices_of(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto exponent = static_cast<std::int32_t>(bits >> 52 & 0x7ff);
  if (exponent == 0x7ff) return {SumElement::not_finite, 0, 0, 0};
  // |x| is significand * 2^scale in units of 2^-1074; `leading` is the index of its highest possible bit.
  const std::uint64_t hidden = exponent != 0 ? std::uint64_t{1} << 52 : 0;
  const std::uint64_t significand = (bits & ((std::uint64_t{1} << 52) - 1)) | hidden;
  const std::int32_t scale = exponent != 0 ? exponent - 1 : 0;
  const std::int32_t leading = scale + 52;
  const std::int32_t in_slice = leading % sum_bin_bits;  // the first slice has in_slice + 1 bits
  const std::uint64_t rest = significand << (12 + in_slice);
  const auto sign = static_cast<std::int64_t>(bits) >> 63;  // 0 or -1
  const auto with_sign = [sign](std::uint64_t slice) {
    return (static_cast<std::int64_t>(slice) ^ sign) - sign;
  };
  return {leading / sum_bin_bits, with_sign(significand >> (52 - in_slice)), with_sign(rest >> 32),
          with_sign(rest & 0xffffffff)};
}

/// Raises the highest position of `sum` to `top`, unless it is `top` or higher. Bins keep their positions;
/// those that fall below the lowest position are dropped.
constexpr void raise_to(SumElement& sum, std::int32_t top) {
  for (std::int32_t step = top - sum.top < sum_bin_count ? top - sum.top : sum_bin_count; step > 0; --step) {
    for (int i = sum_bin_count - 1; i > 0; --i) sum.bins[i] = sum.bins[i - 1];
    sum.bins[0] = 0;
  }
  if (top > sum.top) sum.top = top;
}

constexpr void add_to(SumElement& sum, double x) {
  const SumSlices slices = slices_of(x);
  if (slices.top > sum.top) raise_to(sum, slices.top);
  // Bins are indexed by constants, so that they stay in registers on a GPU.
  switch (sum.top - slices.top) {
    case 0:
      sum.bins[0] += slices.high;
      sum.bins[1] += slices.middle;
      sum.bins[2] += slices.low;
      break;
    case 1:
      sum.bins[1] += slices.high;
      sum.bins[2] += slices.middle;
      sum.bins[3] += slices.low;
      break;
    case 2:
      sum.bins[2] += slices.high;
      sum.bins[3] += slices.middle;
      break;
    case 3: sum.bins[3] += slices.high; break;
    default: break;
  }
}

constexpr void merge_into(SumElement& sum, SumElement other) {
  if (other.top > sum.top) raise_to(sum, other.top);
  if (sum.top > other.top) raise_to(other, sum.top);
  for (int i = 0; i < sum_bin_count; ++i) sum.bins[i] += other.bins[i];
}

/// The sum, rounded once, to nearest even: infinite above the largest double, NaN if a summand was not
/// finite. A sum of zero is +0.
[[nodiscard]] constexpr double rounded(SumElement sum) {
  if (sum.top >= SumElement::not_finite) return std::numeric_limits<double>::quiet_NaN();

  // Carry propagation from the lowest bin up gives digits in base 2^32; the highest digit has the sign.
  constexpr int digit_count = sum_bin_count + 1;
  std::uint32_t digits[digit_count] = {};
  const auto carry_through = [&] {
    std::int64_t carry = 0;
    for (int i = 0; i < sum_bin_count; ++i) {
      carry += sum.bins[sum_bin_count - 1 - i];
      digits[i] = static_cast<std::uint32_t>(carry);
      carry >>= sum_bin_bits;
    }
    digits[digit_count - 1] = static_cast<std::uint32_t>(carry);
    return carry < 0;
  };
  const bool negative = carry_through();
  if (negative) {
    for (auto& bin : sum.bins) bin = -bin;
    carry_through();
  }

  int length = 0;  // length in bits
  for (int i = 0; i < digit_count; ++i)
    if (digits[i] != 0) length = i * sum_bin_bits + static_cast<int>(std::bit_width(digits[i]));
  if (length == 0) return 0.0;

  // The significand is the 53 bits below `length`, or fewer if the result is subnormal. Bits below index 0
  // are zero.
  const int unit = -sum_bin_bits * (sum.top - (sum_bin_count - 1));  // index of the bit of weight 2^-1074
  const int lowest = length - 53 > unit ? length - 53 : unit;
  const auto bit = [&](int i) { return i >= 0 ? digits[i / sum_bin_bits] >> (i % sum_bin_bits) & 1U : 0U; };
  std::uint64_t significand = 0;
  for (int i = length - 1; i >= lowest; --i) significand = significand << 1 | bit(i);
  bool above_half = false;  // whether a bit below the half bit is set
  for (int i = 0; i < lowest - 1; ++i) above_half = above_half || bit(i) != 0;
  if (bit(lowest - 1) != 0 && (above_half || (significand & 1) != 0)) ++significand;

  // The addition carries the hidden bit, or a carry into 2^53, into the exponent field.
  constexpr std::uint64_t infinity = std::uint64_t{0x7ff} << 52;
  const std::uint64_t magnitude = (static_cast<std::uint64_t>(lowest - unit) << 52) + significand;
  const std::uint64_t sign_bit = negative ? std::uint64_t{1} << 63 : 0;
  return std::bit_cast<double>((magnitude < infinity ? magnitude : infinity) | sign_bit);
}

}  // namespace TESSERA_NAMESPACE

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

namespace TESSERA_NAMESPACE::gam {

struct Extent {
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();

  void add(double value) {
    min = std::min(min, value);
    max = std::max(max, value);
  }
  void add(const Extent& other) {
    min = std::min(min, other.min);
    max = std::max(max, other.max);
  }
  [[nodiscard]] bool empty() const { return min > max; }
  /// Whether the values are equal up to the rounding of numbers of magnitude `size`.
  [[nodiscard]] bool constant(double size) const {
    return max - min <= 4 * std::numeric_limits<double>::epsilon() * size;
  }
  [[nodiscard]] double size() const { return std::max(std::abs(min), std::abs(max)); }
};

struct NumberScan {
  Extent extent;           ///< range of the numbers, without NaN
  bool all_finite = true;  ///< no NaN or infinity

  void add(const NumberScan& other) {
    extent.add(other.extent);
    all_finite = all_finite && other.all_finite;
  }
};

inline constexpr double missing_number = std::numeric_limits<double>::quiet_NaN();

// All bits except the sign. Adding `lowest_of_exponent` to these bits of a number that is not finite carries
// into the sign bit, because the exponent bits are all ones.
inline constexpr std::uint64_t magnitude_bits = ~(std::uint64_t{1} << 63);
inline constexpr std::uint64_t lowest_of_exponent = std::uint64_t{1} << 52;

/// Scans the numbers once, at about the memory bandwidth of a core.
[[nodiscard]] NumberScan scan(std::span<const double> numbers);

/// The number of values that are NaN or exceed `most` in absolute value. Sets the flags of their rows to 0,
/// and their elements in `to`, a copy of the numbers, to `missing_number`; `flags` and `to` may be null.
std::int64_t count_beyond(std::span<const double> numbers, double most, std::uint8_t* flags, double* to);

/// Extent of the numbers whose flag is 1. Flags must be 0 or 1.
[[nodiscard]] Extent scan_flagged(std::span<const double> numbers, const std::uint8_t* flags);

/// Flags must be 0 or 1.
[[nodiscard]] std::int64_t count_flags(std::span<const std::uint8_t> flags);

}  // namespace TESSERA_NAMESPACE::gam

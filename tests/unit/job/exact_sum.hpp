// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace tessera {

/// The exact sum of doubles, as a count of each power of two: slow, but simple enough to trust.
class ExactSum {
 public:
  /// Adds `times * x`. `x` is finite.
  void add(double x, std::int64_t times = 1) {
    int exponent = 0;
    auto significand = static_cast<std::int64_t>(std::ldexp(std::frexp(std::fabs(x), &exponent), 53));
    int place = exponent - 53 + least;  // of the lowest bit, in powers of two above the least subnormal
    for (; place < 0; ++place) significand /= 2;  // a subnormal: these bits are zero
    for (; significand != 0; significand /= 2, ++place)
      if (significand % 2 != 0) counts_[static_cast<std::size_t>(place)] += std::signbit(x) ? -times : times;
  }

  /// -1, 0 or 1.
  [[nodiscard]] int sign() const {
    std::int64_t carry = 0;
    bool any = false;
    for (const std::int64_t count : counts_) {
      carry += count;
      any = any || (carry & 1) != 0;
      carry >>= 1;
    }
    return carry < 0 ? -1 : (any || carry > 0 ? 1 : 0);
  }

  /// Whether `result` is this sum rounded to nearest even.
  [[nodiscard]] bool rounds_to(double result) const {
    if (std::isnan(result)) return false;
    if (std::isinf(result)) {  // half a unit above the largest double, or more
      ExactSum rest = *this;
      rest.add(std::copysign(largest, result), -1);
      rest.add(std::copysign(std::ldexp(1.0, 970), result), -1);
      return rest.sign() * (result > 0 ? 1 : -1) >= 0;
    }
    ExactSum error = *this;
    error.add(result, -1);
    const int side = error.sign();
    if (side == 0) return true;
    // Compares twice the sum with the result plus its neighbour on that side.
    ExactSum past_half = error;
    for (std::size_t i = 0; i < counts_.size(); ++i) past_half.counts_[i] += counts_[i];
    const double neighbour = std::nextafter(result, side * std::numeric_limits<double>::infinity());
    if (std::isinf(neighbour))
      past_half.add(std::copysign(std::ldexp(1.0, 1023), neighbour), -2);
    else
      past_half.add(neighbour, -1);
    const int beyond = past_half.sign() * side;
    const bool even = (std::bit_cast<std::uint64_t>(result) & 1) == 0;
    return beyond < 0 || (beyond == 0 && even);
  }

 private:
  static constexpr int least = 1074;
  static constexpr double largest = std::numeric_limits<double>::max();
  std::vector<std::int64_t> counts_ = std::vector<std::int64_t>(2200, 0);
};

}  // namespace tessera

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <bit>
#include <cstdint>

namespace tessera::inline TESSERA_ABI::detail {

__extension__ using Wide = unsigned __int128;

/// Divides 128-bit numbers by one 64-bit divisor with two multiplications each, several times faster
/// than the compiler's 128-bit division. Source: Möller and Granlund, "Improved division by invariant
/// integers", IEEE Transactions on Computers 60 (2011), algorithm 4.
class WideDivider {
 public:
  struct Result {
    std::uint64_t quotient;
    std::uint64_t remainder;
  };

  /// `divisor` is not zero.
  constexpr explicit WideDivider(std::uint64_t divisor)
      : shift_(std::countl_zero(divisor)),
        divisor_(divisor << shift_),
        inverse_(static_cast<std::uint64_t>((Wide{~divisor_} << 64 | ~std::uint64_t{0}) / divisor_)) {}

  /// `dividend` is below the divisor times 2^64, so that the quotient fits 64 bits.
  [[nodiscard]] constexpr Result divide(Wide dividend) const {
    dividend <<= shift_;
    const auto high = static_cast<std::uint64_t>(dividend >> 64);
    const auto low = static_cast<std::uint64_t>(dividend);
    const Wide estimate = Wide{inverse_} * high + dividend;
    auto quotient = static_cast<std::uint64_t>(estimate >> 64) + 1;
    std::uint64_t remainder = low - quotient * divisor_;
    // No branch: half of all estimates are one too high.
    const bool too_high = remainder > static_cast<std::uint64_t>(estimate);
    quotient -= too_high ? 1 : 0;
    remainder += divisor_ & -std::uint64_t{too_high};
    if (remainder >= divisor_) {
      ++quotient;
      remainder -= divisor_;
    }
    return {quotient, remainder >> shift_};
  }

 private:
  int shift_;
  std::uint64_t divisor_;  // shifted so that its highest bit is set
  std::uint64_t inverse_;  // floor((2^128 - 1) / divisor_) - 2^64
};

}  // namespace tessera::inline TESSERA_ABI::detail

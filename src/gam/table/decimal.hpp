// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

/// Numbers in plain decimal notation, which most fields of a table are: rounded correctly, as std::from_chars
/// rounds them, in a third of its time.
namespace tessera::gam {

/// Bytes behind a text that `take_decimal` may look at, eight at a time.
inline constexpr std::size_t decimal_padding = 8;

/// Eight characters, the first in the lowest byte.
inline std::uint64_t eight_bytes(const char* text) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, text, sizeof word);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

namespace decimal {

__extension__ using Wide = unsigned __int128;

// More would not fit into 64 bits.
inline constexpr int max_digits = 19;

inline constexpr auto powers_of_ten = [] {
  std::array<std::uint64_t, max_digits + 1> powers{1};
  for (std::size_t i = 1; i < powers.size(); ++i) powers[i] = 10 * powers[i - 1];
  return powers;
}();

/// Eight characters as values of digits; a byte above 9 is no digit.
inline std::uint64_t eight_at(const char* text) noexcept {
  return eight_bytes(text) ^ 0x3030303030303030;
}

/// How many of eight are digits before the first that is none.
inline int leading_digits(std::uint64_t eight) noexcept {
  // A sum that carries into the next byte comes from one that is no digit, and is behind it.
  const std::uint64_t others = ((eight + 0x7676767676767676) | eight) & 0x8080808080808080;
  return std::countr_zero(others) / 8;
}

/// The number that eight digits are: pairs of neighbours are joined, then pairs of pairs, then the two
/// halves.
inline std::uint64_t value_of(std::uint64_t eight) noexcept {
  constexpr std::uint64_t pair = 0x000000FF000000FF;
  eight = 10 * eight + (eight >> 8);
  return ((eight & pair) * (100 + (std::uint64_t{1000000} << 32)) +
          ((eight >> 16) & pair) * (1 + (std::uint64_t{10000} << 32))) >>
         32;
}

/// Takes digits off the front; returns how many they are. Beyond 19 in all the number is no longer right.
inline int take_digits(const char*& at, const char* end, std::uint64_t& number) noexcept {
  int taken = 0;
  for (;;) {
    const std::uint64_t eight = eight_at(at);
    const auto digits = static_cast<int>(std::min<std::ptrdiff_t>(leading_digits(eight), end - at));
    if (digits == 0) return taken;
    // Digits of nothing come before them.
    number = number * powers_of_ten[static_cast<std::size_t>(digits)] + value_of(eight << (64 - 8 * digits));
    at += digits;
    taken += digits;
    if (digits < 8) return taken;
  }
}

/// number / 10^places, rounded to nearest, ties to even; places from 0 to 19.
inline double divided(std::uint64_t number, int places) noexcept {
  const std::uint64_t power = powers_of_ten[static_cast<std::size_t>(places)];
  // One rounding of two exact numbers (Clinger, PLDI 1990): powers of ten to the 22nd are.
  if (number <= std::uint64_t{1} << 53) return static_cast<double>(number) / static_cast<double>(power);
  // A quotient of 63 or 64 bits; what is left of it is in its lowest bit, far below the last that counts.
  const int shift = std::countl_zero(number);
  const int power_shift = std::countl_zero(power);
  const Wide dividend = static_cast<Wide>(number << shift) << 63;
  const std::uint64_t divisor = power << power_shift;
  auto quotient = static_cast<std::uint64_t>(dividend / divisor);
  if (static_cast<Wide>(quotient) * divisor != dividend) quotient |= 1;
  const int exponent = power_shift - shift - 63;
  return static_cast<double>(quotient) *
         std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
}

}  // namespace decimal

/// Takes a number such as -12.5 off the front: digits and at most one point, without an exponent, a plus or
/// blanks. False, and `at` anywhere, for any other text, and for more than 19 digits. `decimal_padding` bytes
/// at `end` can be read.
[[nodiscard]] inline bool take_decimal(const char*& at, const char* end, double& value) noexcept {
  const bool negative = at != end && *at == '-';
  if (negative) ++at;
  std::uint64_t number = 0;
  const int whole = decimal::take_digits(at, end, number);
  const bool only_places = number == 0 && whole <= decimal::max_digits;  // zeros in front take no room
  int places = 0;
  if (at != end && *at == '.') {
    ++at;
    places = decimal::take_digits(at, end, number);
  }
  const int digits = only_places ? places : whole + places;
  if (whole + places == 0 || digits > decimal::max_digits) return false;
  const double magnitude = decimal::divided(number, places);
  value = negative ? -magnitude : magnitude;
  return true;
}

}  // namespace tessera::gam

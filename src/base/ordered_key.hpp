// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

/// Maps doubles to integers in the same order: sets the sign bit of positive numbers, and flips all bits of
/// negative ones. -0 equals 0.
namespace tessera::base {

inline constexpr std::uint64_t sign_bit = std::uint64_t{1} << 63;

[[nodiscard]] inline std::uint64_t ordered_key(double value) noexcept {
  const auto bits = std::bit_cast<std::uint64_t>(value + 0.0);
  return (bits & sign_bit) != 0 ? ~bits : bits | sign_bit;
}

[[nodiscard]] inline double value_of_key(std::uint64_t key) noexcept {
  return std::bit_cast<double>((key & sign_bit) != 0 ? key ^ sign_bit : ~key);
}

}  // namespace tessera::base

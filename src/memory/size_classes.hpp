// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

/// Size classes: rounds requests up, so that similar sizes share cached blocks.
namespace TESSERA_NAMESPACE::memory {

struct SizeClass {
  std::uint32_t index = 0;
  std::size_t bytes = 0;  ///< size of a block in this class
};
using ClassOf = SizeClass (*)(std::size_t bytes) noexcept;

/// The largest request that has a class: 1 TiB.
inline constexpr std::size_t largest_class_bytes = std::size_t{1} << 40;

/// The class of a request of `bytes`, 1 to `largest_class_bytes`. Classes are multiples of 512 bytes up to 4
/// KiB; above, each power of two has 8 classes, from 1 MiB 16, and from 64 MiB 64, to limit the memory that
/// rounding wastes.
[[nodiscard]] constexpr SizeClass fine_class(std::size_t bytes) noexcept {
  const std::size_t last = bytes - 1;
  if (last < 4096) {
    const auto index = static_cast<std::uint32_t>(last / 512);
    return {index, (index + std::size_t{1}) * 512};
  }
  // 2^octave < bytes <= 2^(octave + 1); this range is cut into 2^bits steps.
  const auto octave = static_cast<std::uint32_t>(std::bit_width(last) - 1);
  std::uint32_t bits = 3;
  std::uint32_t first = 8 + (octave - 12) * 8;
  if (octave >= 26) {
    bits = 6;
    first = 168 + (octave - 26) * 64;
  } else if (octave >= 20) {
    bits = 4;
    first = 72 + (octave - 20) * 16;
  }
  const std::size_t steps = last >> (octave - bits);  // whole steps in `last`: 2^bits to 2^(bits + 1) - 1
  return {first + static_cast<std::uint32_t>(steps) - (1u << bits), (steps + 1) << (octave - bits)};
}

/// Powers of two from 1 KiB. `bytes` is 1 to `largest_class_bytes`.
[[nodiscard]] constexpr SizeClass power_class(std::size_t bytes) noexcept {
  if (bytes <= 1024) return {0, 1024};
  const auto power = static_cast<std::uint32_t>(std::bit_width(bytes - 1));
  return {power - 10, std::size_t{1} << power};
}

}  // namespace TESSERA_NAMESPACE::memory

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/csv/decimal.hpp"

#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/// Bit masks of the positions of a byte value in a block of 64 bytes; the lowest bit is the first byte. They
/// split a table into fields without a test per byte (Langdale and Lemire, Parsing Gigabytes of JSON per
/// Second, 2019).
namespace TESSERA_NAMESPACE::gam {

inline constexpr std::size_t block_bytes = 64;

/// `block_bytes` bytes from `block` on must be readable.
inline std::uint64_t places_of(char wanted, const char* block) noexcept {
  std::uint64_t places = 0;
#if defined(__SSE2__)
  const __m128i sought = _mm_set1_epi8(wanted);
  for (std::size_t i = 0; i < block_bytes; i += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + i));
    places |= static_cast<std::uint64_t>(
                  static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, sought))))
              << i;
  }
#else
  constexpr std::uint64_t ones = 0x0101010101010101;
  constexpr std::uint64_t low_bits = 0x7F * ones;
  for (std::size_t i = 0; i < block_bytes; i += 8) {
    const std::uint64_t others = eight_bytes(block + i) ^ (static_cast<unsigned char>(wanted) * ones);
    // `equal` has the lowest bit of each byte that equals `wanted`; the product gathers these bits.
    const std::uint64_t equal = ~(((others & low_bits) + low_bits) | others | low_bits) >> 7;
    places |= (equal * 0x0102040810204080 >> 56) << i;
  }
#endif
  return places;
}

/// Prefix parity: bit i of the result is the parity of bits 0 to i.
inline std::uint64_t parities(std::uint64_t bits) noexcept {
  for (int shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}

}  // namespace TESSERA_NAMESPACE::gam

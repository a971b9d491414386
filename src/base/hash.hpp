// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tessera::base {

/// 64-bit FNV-1a (Fowler, Noll, Vo). It detects accidental changes, not forgery.
inline constexpr std::uint64_t fnv1a_start = 0xcbf29ce484222325u;

/// One FNV-1a step. `value` is a byte; a word is faster, but gives a hash other than the published one.
[[nodiscard]] constexpr std::uint64_t fnv1a_step(std::uint64_t hash, std::uint64_t value) noexcept {
  return (hash ^ value) * 0x100000001b3u;
}

[[nodiscard]] constexpr std::uint64_t fnv1a(std::string_view bytes,
                                            std::uint64_t hash = fnv1a_start) noexcept {
  for (const char c : bytes) hash = fnv1a_step(hash, static_cast<unsigned char>(c));
  return hash;
}

/// The number that SplitMix64 draws from a state (Steele, Lea and Flood, OOPSLA 2014): a bijection that
/// spreads nearby numbers.
[[nodiscard]] constexpr std::uint64_t split_mix(std::uint64_t state) noexcept {
  state += 0x9e3779b97f4a7c15u;
  state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
  state = (state ^ (state >> 27)) * 0x94d049bb133111ebu;
  return state ^ (state >> 31);
}

/// Sixteen hexadecimal digits.
[[nodiscard]] inline std::string hex(std::uint64_t value) {
  std::string text(16, '0');
  for (auto digit = text.rbegin(); digit != text.rend(); ++digit, value >>= 4)
    *digit = "0123456789abcdef"[value & 15];
  return text;
}

}  // namespace tessera::base

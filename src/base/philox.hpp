// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace tessera::base {

/// Philox4x32-10, a counter-based generator (Salmon, Moraes, Dror and Shaw, SC 2011): 128 random bits that
/// depend only on a counter and a key.
[[nodiscard]] constexpr std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                                            std::array<std::uint32_t, 2> key) noexcept {
  constexpr int rounds = 10;
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key = {key[0] + 0x9E3779B9U, key[1] + 0xBB67AE85U};
  }
  return counter;
}

/// The random numbers of one (row, draw) pair: a UniformRandomBitGenerator of at most 2^34 numbers. The
/// numbers do not depend on the order in which pairs are visited.
class RandomPlace {
 public:
  using result_type = std::uint32_t;
  /// `row` < 2^56, `draw` < 2^32.
  RandomPlace(std::uint64_t seed, std::uint64_t row, std::uint64_t draw) noexcept
      : counter_{0, static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(row >> 32),
                 static_cast<std::uint32_t>(draw)},
        key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)} {}

  [[nodiscard]] static constexpr result_type min() noexcept { return 0; }
  [[nodiscard]] static constexpr result_type max() noexcept {
    return std::numeric_limits<result_type>::max();
  }
  result_type operator()() noexcept {
    if (next_ == bits_.size()) {
      bits_ = philox(counter_, key_);
      ++counter_[0];
      next_ = 0;
    }
    return bits_[next_++];
  }
  /// Uniform in the open interval (0, 1).
  [[nodiscard]] double uniform() noexcept {
    const std::uint64_t high = (*this)();
    return uniform_of((high << 32) | (*this)());
  }
  /// Maps 64 random bits to the midpoint of one of 2^52 equal intervals of (0, 1). A double represents each
  /// midpoint exactly.
  [[nodiscard]] static constexpr double uniform_of(std::uint64_t bits) noexcept {
    return (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52;
  }

 private:
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> bits_{};
  std::size_t next_ = 4;
};

}  // namespace tessera::base

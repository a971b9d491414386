// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace tessera::base {

/// R's random numbers after `set.seed(seed)` with its default generators since 3.6: Mersenne Twister
/// (Matsumoto and Nishimura, ACM TOMACS 8, 1998), and indices by rejection.
class RRandom {
 public:
  explicit RRandom(std::uint32_t seed) noexcept;

  /// A uniform index among 0 … n - 1; n > 0.
  [[nodiscard]] std::int64_t index(std::int64_t n);
  /// `sample(1:n, count) - 1`: distinct indices, in the order in which they are drawn. R uses this algorithm
  /// if n is at most 1e7 or `count` exceeds n / 2. Cost: O(n).
  [[nodiscard]] std::vector<std::int32_t> sample(std::int32_t n, std::int32_t count);

 private:
  static constexpr int size = 624;
  [[nodiscard]] std::uint32_t next() noexcept;

  std::array<std::uint32_t, size> state_{};
  int at_ = size;
};

inline RRandom::RRandom(std::uint32_t seed) noexcept {
  // R scrambles the seed by 50 steps. The result of the next step is unused: R overwrites it with the
  // position in the state.
  const auto congruential = [](std::uint32_t x) { return 69069 * x + 1; };
  for (int i = 0; i < 50; ++i) seed = congruential(seed);
  seed = congruential(seed);
  for (std::uint32_t& word : state_) word = seed = congruential(seed);
}

inline std::uint32_t RRandom::next() noexcept {
  constexpr int middle = 397;
  constexpr std::uint32_t upper = 0x80000000;
  constexpr std::uint32_t lower = 0x7fffffff;
  if (at_ == size) {
    for (int k = 0; k < size; ++k) {
      const auto i = static_cast<std::size_t>(k);
      const std::uint32_t y = (state_[i] & upper) | (state_[(i + 1) % size] & lower);
      state_[i] = state_[(i + middle) % size] ^ (y >> 1) ^ ((y & 1) != 0 ? 0x9908b0dfU : 0U);
    }
    at_ = 0;
  }
  std::uint32_t y = state_[static_cast<std::size_t>(at_++)];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680U;
  y ^= (y << 15) & 0xefc60000U;
  return y ^ (y >> 18);
}

inline std::int64_t RRandom::index(std::int64_t n) {
  const auto bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n - 1)));
  std::int64_t value = 0;
  do {
    std::uint64_t drawn = 0;
    for (int taken = 0; taken <= bits; taken += 16) drawn = (drawn << 16) | (next() >> 16);
    value = static_cast<std::int64_t>(drawn & ((std::uint64_t{1} << bits) - 1));
  } while (value >= n);
  return value;
}

inline std::vector<std::int32_t> RRandom::sample(std::int32_t n, std::int32_t count) {
  std::vector<std::int32_t> left(static_cast<std::size_t>(n));
  std::iota(left.begin(), left.end(), 0);
  std::vector<std::int32_t> drawn;
  drawn.reserve(static_cast<std::size_t>(count));
  for (std::int32_t i = 0; i < count; ++i) {
    const auto place = static_cast<std::size_t>(index(n - i));
    drawn.push_back(left[place]);
    left[place] = left[static_cast<std::size_t>(n - i - 1)];
  }
  return drawn;
}

}  // namespace tessera::base

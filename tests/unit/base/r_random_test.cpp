// SPDX-License-Identifier: Apache-2.0
// Random numbers equal those of R 4.2.2: set.seed(seed); sample(1:n, count).
#include "base/r_random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera::base {
namespace {

std::vector<std::int32_t> first(const std::vector<std::int32_t>& drawn, std::size_t count) {
  return {drawn.begin(), drawn.begin() + static_cast<std::ptrdiff_t>(std::min(count, drawn.size()))};
}

using Indices = std::vector<std::int32_t>;

TEST(RRandom, DrawsWhatRDraws) {
  RRandom random(66);
  const Indices some = random.sample(30'000, 10'000);
  EXPECT_EQ(first(some, 8), (Indices{21606, 5628, 27331, 10623, 24857, 27804, 22446, 24670}));
  EXPECT_EQ(some.back(), 8164);
  // The same generator continues.
  const Indices all = random.sample(30'000, 30'000);
  EXPECT_EQ(first(all, 2), (Indices{25402, 2130}));
  EXPECT_EQ(all.back(), 13325);
}

TEST(RRandom, TakesAsManyBitsAsAnIndexNeeds) {
  RRandom powers(1);
  EXPECT_EQ(powers.sample(65'536, 5), (Indices{24387, 59520, 58876, 43306, 4049}));
  RRandom many(1);
  EXPECT_EQ(many.sample(1, 1), Indices{0});
  EXPECT_EQ(first(many.sample(10'000'000, 3), 3), (Indices{4428454, 8401825, 2793741}));
}

TEST(RRandom, DrawsEachOnce) {
  RRandom random(5);
  Indices all = random.sample(1000, 1000);
  std::ranges::sort(all);
  for (std::int32_t i = 0; i < 1000; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)], i);
}

}  // namespace
}  // namespace tessera::base

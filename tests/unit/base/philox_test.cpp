// SPDX-License-Identifier: Apache-2.0
#include "base/philox.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>

namespace tessera::base {
namespace {

using Counter = std::array<std::uint32_t, 4>;

// The known answers of Random123, philox4x32 of 10 rounds.
TEST(Philox, IsThatOfRandom123) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Counter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox({ones, ones, ones, ones}, {ones, ones}),
            (Counter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Counter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, PlacesHaveNumbersOfTheirOwn) {
  RandomPlace a(1, 7, 3);
  RandomPlace b(1, 7, 4);
  RandomPlace c(1, 8, 3);
  RandomPlace d(2, 7, 3);
  const std::uint32_t first = a();
  for (RandomPlace* other : {&b, &c, &d}) EXPECT_NE((*other)(), first);
  RandomPlace again(1, 7, 3);
  EXPECT_EQ(again(), first);
}

TEST(Philox, UniformNumbersAreBetween0And1) {
  EXPECT_GT(RandomPlace::uniform_of(0), 0);
  EXPECT_LT(RandomPlace::uniform_of(~std::uint64_t{0}), 1);
  double sum = 0;
  double squares = 0;
  constexpr int count = 100'000;
  RandomPlace random(5, 0, 0);
  for (int i = 0; i < count; ++i) {
    const double u = random.uniform();
    ASSERT_GT(u, 0);
    ASSERT_LT(u, 1);
    sum += u;
    squares += u * u;
  }
  EXPECT_NEAR(sum / count, 1.0 / 2, 4 * std::sqrt(1.0 / 12 / count));
  EXPECT_NEAR(squares / count, 1.0 / 3, 4 * std::sqrt(4.0 / 45 / count));
}

}  // namespace
}  // namespace tessera::base

// SPDX-License-Identifier: Apache-2.0
#include "memory/size_classes.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <random>

namespace TESSERA_NAMESPACE::memory {
namespace {

TEST(SizeClasses, FineOnesWasteAnEighthASixteenthAboveOneMiBAndASixtyFourthAboveSixtyFourMiB) {
  std::mt19937_64 random(1);
  const auto check = [](std::size_t bytes) {
    const SizeClass size = fine_class(bytes);
    ASSERT_GE(size.bytes, bytes);
    ASSERT_LE(size.index, fine_class(largest_class_bytes).index);
    ASSERT_EQ(size.bytes % 256, 0u) << bytes;
    const std::size_t waste = size.bytes - bytes;
    const std::size_t allowed = bytes <= 4096         ? 511
                                : bytes <= (1u << 20) ? bytes / 8
                                : bytes <= (1u << 26) ? bytes / 16
                                                      : bytes / 64;
    ASSERT_LE(waste, allowed) << bytes;
    // A class holds exactly the sizes above the next smaller class, up to its own.
    const SizeClass self = fine_class(size.bytes);
    ASSERT_EQ(self.index, size.index) << bytes;
    ASSERT_EQ(self.bytes, size.bytes) << bytes;
    if (size.bytes == largest_class_bytes) return;
    ASSERT_EQ(fine_class(size.bytes + 1).index, size.index + 1) << bytes;
  };
  for (std::size_t bytes = 1; bytes <= 300'000; ++bytes) check(bytes);
  for (int power = 12; power <= 40; ++power) {
    for (int step : {-1, 0, 1}) {
      const std::size_t bytes = (std::size_t{1} << power) + static_cast<std::size_t>(step);
      if (bytes <= largest_class_bytes) check(bytes);
    }
  }
  for (int i = 0; i < 200'000; ++i) check(1 + random() % (std::size_t{1} << (10 + random() % 31)));
}

TEST(SizeClasses, PowersOfTwoFromOneKiB) {
  EXPECT_EQ(power_class(1).bytes, 1024u);
  EXPECT_EQ(power_class(1024).index, 0u);
  EXPECT_EQ(power_class(1025).bytes, 2048u);
  EXPECT_EQ(power_class(1025).index, 1u);
  for (std::uint32_t power = 11; power <= 40; ++power) {
    const std::size_t bytes = std::size_t{1} << power;
    EXPECT_EQ(power_class(bytes).bytes, bytes);
    EXPECT_EQ(power_class(bytes).index, power - 10);
    EXPECT_EQ(power_class(bytes - 1).index, power - 10);
  }
  EXPECT_EQ(power_class(largest_class_bytes).index, 30u);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::memory

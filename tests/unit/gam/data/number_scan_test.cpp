// SPDX-License-Identifier: Apache-2.0
#include "gam/data/frame/number_scan.hpp"

#include "base/ordered_key.hpp"
#include "gam/data/frame/bounded_values.hpp"
#include "support/each_width.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace tessera::testing {
namespace {

using gam::NumberScan;
using gam::scan;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(NumberScan, OfNothingIsEmpty) {
  EXPECT_TRUE(scan({}).extent.empty());
  EXPECT_TRUE(scan({}).all_finite);
}

// Each position in turn, in whole registers and after them.
TEST(NumberScan, SeesEachNumber) {
  std::mt19937_64 random(7);
  for (const std::size_t count : {1u, 3u, 4u, 15u, 16u, 17u, 50u}) {
    std::vector<double> numbers(count);
    for (double& number : numbers) number = std::uniform_real_distribution(-1.0, 1.0)(random);
    for (double& number : numbers) {
      const double before = number;
      number = -2;
      EXPECT_EQ(scan(numbers).extent.min, -2);
      number = 2;
      EXPECT_EQ(scan(numbers).extent.max, 2);
      number = std::numeric_limits<double>::max();
      EXPECT_TRUE(scan(numbers).all_finite);
      for (const double odd : {infinity, -infinity, nan, -nan}) {
        number = odd;
        EXPECT_FALSE(scan(numbers).all_finite) << odd << " among " << count;
      }
      EXPECT_EQ(scan(numbers).extent.empty(), count == 1) << "a NaN is in no extent";
      number = before;
    }
    EXPECT_TRUE(scan(numbers).all_finite);
  }
}

// Agrees with the two scans that it replaces, wherever the values of the range and the NaNs are.
TEST(NumberScan, FindsTheValuesOfARangeInTheSameLook) {
  std::mt19937_64 random(11);
  for (const std::size_t count : {0u, 1u, 15u, 16u, 17u, 511u, 512u, 513u, 5000u}) {
    for (const double share : {0.0, 0.01, 0.5, 1.0}) {
      std::vector<double> numbers(count);
      for (double& number : numbers) number = std::uniform_real_distribution(-1.0, 1.0)(random);
      for (std::size_t i = 3; i < count; i += 97) numbers[i] = i % 2 == 0 ? nan : -infinity;
      if (count > 8) numbers[8] = share;
      const gam::KeySpan range{base::ordered_key(-share), base::ordered_key(share)};
      rows_test::at_each_width([&] {
        gam::BoundedValues apart{range};
        apart.add(numbers, count);
        gam::BoundedValues together{range};
        const NumberScan scanned = together.add_and_scan(numbers, count);
        EXPECT_EQ(together.below, apart.below);
        EXPECT_EQ(together.inside, apart.inside);
        EXPECT_EQ(together.all_kept, apart.all_kept);
        EXPECT_EQ(scanned.extent.min, scan(numbers).extent.min);
        EXPECT_EQ(scanned.extent.max, scan(numbers).extent.max);
        EXPECT_EQ(scanned.all_finite, scan(numbers).all_finite);
      });
    }
  }
}

// Each of the functions for rows with missing values agrees with a loop.
TEST(NumberScan, FindsMissingAndFlaggedNumbers) {
  std::mt19937_64 random(13);
  const double payload = std::bit_cast<double>(std::uint64_t{0xfff8000000000123});
  for (const std::size_t count : {0u, 1u, 3u, 4u, 7u, 8u, 15u, 16u, 17u, 50u, 1000u}) {
    for (const double share : {0.0, 0.05, 0.5, 1.0}) {
      std::vector<double> numbers(count);
      std::vector<std::uint8_t> flags(count);
      for (std::size_t i = 0; i < count; ++i) {
        const double odd[] = {nan, payload, infinity, -infinity};
        numbers[i] = std::uniform_real_distribution(-1.0, 1.0)(random);
        if (std::bernoulli_distribution(share)(random)) numbers[i] = odd[i % 4];
        flags[i] = std::bernoulli_distribution(0.7)(random) ? 1 : 0;
      }
      gam::Extent extent;
      for (std::size_t i = 0; i < count; ++i) {
        if (flags[i] != 0) extent.add(numbers[i]);
      }
      EXPECT_EQ(gam::scan_flagged(numbers, flags.data()).min, extent.min);
      EXPECT_EQ(gam::scan_flagged(numbers, flags.data()).max, extent.max);
      EXPECT_EQ(gam::count_flags(flags), std::ranges::count(flags, 1));
      for (const double most : {infinity, std::numeric_limits<double>::max()}) {
        std::vector<std::uint8_t> expected = flags;
        std::int64_t beyond = 0;
        for (std::size_t i = 0; i < count; ++i) {
          if (std::abs(numbers[i]) <= most) continue;
          expected[i] = 0;
          ++beyond;
        }
        std::vector<std::uint8_t> left = flags;
        EXPECT_EQ(gam::count_beyond(numbers, most, left.data(), nullptr), beyond);
        EXPECT_EQ(left, expected);
      }
      const auto is_nan = [](double number) { return std::isnan(number); };
      const std::int64_t missing = std::ranges::count_if(numbers, is_nan);
      EXPECT_EQ(gam::count_beyond(numbers, infinity, nullptr, nullptr), missing);
      std::vector<double> unified = numbers;
      EXPECT_EQ(gam::count_beyond(numbers, infinity, nullptr, unified.data()), missing);
      std::ranges::replace_if(numbers, is_nan, nan);
      for (std::size_t i = 0; i < count; ++i)
        EXPECT_EQ(std::bit_cast<std::uint64_t>(unified[i]), std::bit_cast<std::uint64_t>(numbers[i]));
    }
  }
}

TEST(NumberScan, AddsUp) {
  NumberScan sum;
  sum.add(scan(std::vector<double>{1, 2}));
  sum.add(scan(std::vector<double>{-3}));
  EXPECT_EQ(sum.extent.min, -3);
  EXPECT_EQ(sum.extent.max, 2);
  EXPECT_TRUE(sum.all_finite);
  sum.add(scan(std::vector<double>{nan}));
  sum.add(scan(std::vector<double>{0}));
  EXPECT_FALSE(sum.all_finite);
}

}  // namespace
}  // namespace tessera::testing

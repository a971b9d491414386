// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <tessera/error.hpp>
#include <tessera/job/reproducible_sum.hpp>

#include <algorithm>
#include <bit>
#include <random>

#include "exact_sum.hpp"
#include "support/errors.hpp"

namespace tessera {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double largest = std::numeric_limits<double>::max();
constexpr double least = std::numeric_limits<double>::denorm_min();
constexpr double least_normal = std::numeric_limits<double>::min();

std::uint64_t bits_of(double x) {
  return std::bit_cast<std::uint64_t>(x);
}

double sum_of(const std::vector<double>& summands) {
  SumElement sum;
  for (const double x : summands) add_to(sum, x);
  return rounded(sum);
}

/// Any finite double: uniform in exponent and sign, including subnormals.
double any_finite(std::mt19937_64& random) {
  double x = infinity;
  while (!std::isfinite(x)) x = std::bit_cast<double>(random());
  return x;
}

static_assert([] {
  SumElement sum;
  add_to(sum, 1.5);
  add_to(sum, -0.25);
  return rounded(sum);
}() == 1.25);

TEST(ReproducibleSum, OneSummandComesBackWhole) {
  std::mt19937_64 random(1);
  std::vector<double> values{1.0,     0.1,     least, 3 * least, least_normal, least_normal - least,
                             largest, 0x1p1023};
  for (int exponent = -1074; exponent < 1024; ++exponent) values.push_back(std::ldexp(1.0, exponent));
  for (int i = 0; i < 100'000; ++i) values.push_back(any_finite(random));
  for (const double x : values) {
    ASSERT_EQ(bits_of(sum_of({x})), bits_of(x)) << x;
    ASSERT_EQ(bits_of(sum_of({-x})), bits_of(-x)) << x;
    ASSERT_EQ(bits_of(sum_of({x, -x})), bits_of(0.0)) << x;
  }
  EXPECT_EQ(bits_of(sum_of({-0.0})), bits_of(0.0));
  EXPECT_EQ(bits_of(sum_of({})), bits_of(0.0));
}

TEST(ReproducibleSum, IsTheExactSumRoundedOnce) {
  constexpr std::uint64_t seed = 271828;
  std::mt19937_64 random(seed);
  for (int round = 0; round < 3000; ++round) {
    // 41 binades: the lowest bit is 93 below the highest, within the kept window wherever that is.
    const int centre = static_cast<int>(random() % 2040) - 1020;
    ExactSum exact;
    std::vector<double> summands(1 + random() % 60);
    for (double& x : summands) {
      const double significand = static_cast<double>(random() >> 11) * 0x1p-53;
      const int exponent = centre + static_cast<int>(random() % 41) - 20;
      x = std::ldexp(random() % 2 == 0 ? significand : -significand, std::min(exponent, 1023));
      exact.add(x);
    }
    const double sum = sum_of(summands);
    ASSERT_TRUE(exact.rounds_to(sum)) << "seed " << seed << ", round " << round << ": " << sum;
  }
}

TEST(ReproducibleSum, RoundsTiesToEven) {
  EXPECT_EQ(sum_of({1.0, 0x1p-53}), 1.0);
  EXPECT_EQ(sum_of({1.0, 0x1p-53, 0x1p-90}), 1.0 + 0x1p-52);
  EXPECT_EQ(sum_of({1.0, 0x1p-52, 0x1p-53}), 1.0 + 0x1p-51);
  EXPECT_EQ(sum_of({1.0, 0x1p-52, 0x1p-53, -0x1p-90}), 1.0 + 0x1p-52);
  EXPECT_EQ(sum_of({-1.0, -0x1p-53}), -1.0);
  EXPECT_EQ(sum_of({-1.0, -0x1p-53, -0x1p-90}), -1.0 - 0x1p-52);
  EXPECT_EQ(sum_of({2.0, -0x1p-53, 0x1p-105}), 2.0);
}

TEST(ReproducibleSum, SubnormalResultsAreExact) {
  EXPECT_EQ(sum_of({least, least}), 2 * least);
  EXPECT_EQ(sum_of({least_normal, -least}), least_normal - least);
  EXPECT_EQ(sum_of({least_normal - least, least}), least_normal);
  EXPECT_EQ(sum_of({0x1p-1000, least, -0x1p-1000}), least);
}

TEST(ReproducibleSum, OverflowsOnlyAtTheEnd) {
  EXPECT_EQ(sum_of({largest, largest}), infinity);
  EXPECT_EQ(sum_of({-largest, -largest}), -infinity);
  EXPECT_EQ(sum_of({largest, 0x1p970}), infinity);  // half a unit: to even, out of range
  EXPECT_EQ(sum_of({largest, 0x1p969}), largest);
  EXPECT_EQ(sum_of({largest, largest, -largest}), largest);
  EXPECT_EQ(sum_of({largest, largest, largest, -largest, -largest, 1.0}), largest);
}

TEST(ReproducibleSum, KeepsNinetySixBitsBelowTheLargest) {
  for (int exponent = -970; exponent < 1024; ++exponent) {
    const double high = std::ldexp(1.0, exponent);
    const double low = std::ldexp(1.0, exponent - 96);
    ASSERT_EQ(sum_of({high, low, -high}), low) << exponent;
    ASSERT_EQ(sum_of({low, high, -high}), low) << exponent;
    ASSERT_EQ(sum_of({-high, high, low}), low) << exponent;
  }
}

TEST(ReproducibleSum, WhatIsDroppedIsDroppedInEveryOrder) {
  std::vector<double> summands{-0x1p1023, 1.0, 0x1p1023, 3e200};
  std::sort(summands.begin(), summands.end());
  do {
    ASSERT_EQ(bits_of(sum_of(summands)), bits_of(0.0));
  } while (std::next_permutation(summands.begin(), summands.end()));
}

TEST(ReproducibleSum, EveryOrderGivesTheSameBits) {
  constexpr std::uint64_t seed = 31415;
  std::mt19937_64 random(seed);
  for (int round = 0; round < 300; ++round) {
    std::vector<double> summands(2 + random() % 50);
    // Wide ranges, where much is dropped, and ranges about as wide as the window.
    const int spread = round % 2 == 0 ? 2000 : 130;
    for (double& x : summands)
      x = std::ldexp(any_finite(random) < 0 ? -1.1 : 1.3, static_cast<int>(random() % spread) - spread / 2);
    const auto expected = bits_of(sum_of(summands));
    for (int shuffle = 0; shuffle < 30; ++shuffle) {
      std::shuffle(summands.begin(), summands.end(), random);
      ASSERT_EQ(bits_of(sum_of(summands)), expected) << "seed " << seed << ", round " << round;
    }
  }
}

TEST(ReproducibleSum, NotFiniteGivesNanInEveryOrder) {
  for (const double odd : {infinity, -infinity, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_TRUE(std::isnan(sum_of({odd})));
    EXPECT_TRUE(std::isnan(sum_of({odd, 1.0, largest})));
    EXPECT_TRUE(std::isnan(sum_of({1.0, odd, -odd, least})));
    EXPECT_TRUE(std::isnan(sum_of({largest, largest, odd})));
  }
}

TEST(ReproducibleSum, BinsHoldThirtyBitsOfCarries) {
  // 2^30 summands with maximal slices, as a state accumulated elsewhere.
  constexpr std::int64_t full = (std::int64_t{0xffffffff}) << 30;
  for (const std::int64_t sign : {1, -1}) {
    const std::vector<std::int32_t> tops{33};
    const std::vector<std::int64_t> bins(4, sign * full);
    ReproducibleSum sum(1);
    sum.merge(tops, bins, ReproducibleSum::max_summands);
    ExactSum exact;
    for (int position = 30; position <= 33; ++position)
      exact.add(static_cast<double>(sign) * std::ldexp(0xffffffff, 32 * position - 1074),
                std::int64_t{1} << 30);
    EXPECT_TRUE(exact.rounds_to(sum.values()[0])) << sum.values()[0];
  }
  SumElement many;
  const double x = 0x1.fffffffffffffp0;
  for (int i = 0; i < 1 << 20; ++i) add_to(many, x);
  EXPECT_EQ(rounded(many), std::ldexp(x, 20));
}

class SumOfVectors : public ::testing::Test {
 protected:
  static constexpr std::size_t width = 17;
  static constexpr std::uint64_t seed = 4242;
  std::mt19937_64 random{seed};
  std::vector<std::vector<double>> vectors =
      std::vector<std::vector<double>>(200, std::vector<double>(width));

  void SetUp() override {
    // Column j spreads over 1 + 16 j binades: from nothing dropped to nearly everything.
    std::normal_distribution<double> normal;
    for (auto& vector : vectors)
      for (std::size_t j = 0; j < width; ++j)
        vector[j] = std::ldexp(normal(random), static_cast<int>(random() % (1 + 16 * j)) - 100);
  }

  [[nodiscard]] std::vector<double> serial() const {
    ReproducibleSum sum(width);
    for (const auto& vector : vectors) sum.add(vector);
    return sum.values();
  }
};

TEST_F(SumOfVectors, AgreesWithItsElements) {
  const auto sums = serial();
  for (std::size_t j = 0; j < width; ++j) {
    std::vector<double> column;
    for (const auto& vector : vectors) column.push_back(vector[j]);
    EXPECT_EQ(bits_of(sums[j]), bits_of(sum_of(column))) << j;
  }
}

TEST_F(SumOfVectors, TakesVectorsWithZerosAndClearsThem) {
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    for (std::size_t j = 0; j < width; ++j) {
      if (j < 12 ? i % 3 != 0 : (i + j) % 5 == 0) vectors[i][j] = j % 2 == 0 ? 0.0 : -0.0;
    }
  }
  const auto expected = serial();
  ReproducibleSum sum(width);
  for (auto& vector : vectors) {
    sum.take(vector);
    EXPECT_EQ(std::ranges::count(vector, 0.0), static_cast<std::ptrdiff_t>(width));
  }
  const auto sums = sum.values();
  for (std::size_t j = 0; j < width; ++j) EXPECT_EQ(bits_of(sums[j]), bits_of(expected[j])) << j;
}

TEST_F(SumOfVectors, AnyTreeOfMergesGivesTheSameBits) {
  const auto expected = serial();
  for (int round = 0; round < 50; ++round) {
    std::shuffle(vectors.begin(), vectors.end(), random);
    std::vector<ReproducibleSum> parts(1 + random() % 20, ReproducibleSum(width));  // some stay empty
    for (const auto& vector : vectors) parts[random() % parts.size()].add(vector);
    while (parts.size() > 1) {
      const auto into = random() % (parts.size() - 1);
      parts[into].merge(parts.back());
      parts.pop_back();
    }
    ASSERT_EQ(parts[0].values(), expected) << "seed " << seed << ", round " << round;
  }
}

TEST_F(SumOfVectors, AStateFromElsewhereIsMergedAsTheSumItself) {
  const auto expected = serial();
  std::vector<std::int32_t> tops(width, -1);
  std::vector<std::int64_t> bins(4 * width, 0);
  for (std::size_t j = 0; j < width; ++j) {
    SumElement element;
    for (std::size_t i = 0; i < 150; ++i) add_to(element, vectors[i][j]);
    tops[j] = element.top;
    for (std::size_t b = 0; b < 4; ++b) bins[b * width + j] = element.bins[b];
  }
  ReproducibleSum sum(width);
  for (std::size_t i = 150; i < vectors.size(); ++i) sum.add(vectors[i]);
  sum.merge(tops, bins, 150);
  EXPECT_EQ(sum.values(), expected);
}

TEST_F(SumOfVectors, RefusesWhatDoesNotFit) {
  const auto refuses = [](auto&& call) { return error_if_any(ErrorCode::usage, call).has_value(); };
  ReproducibleSum sum(2);
  const std::vector<double> three(3);
  const std::vector<std::int32_t> tops(2, -1);
  const std::vector<std::int64_t> bins(8);
  EXPECT_TRUE(refuses([&] { sum.add(three); }));
  EXPECT_TRUE(refuses([&] { sum.merge(ReproducibleSum(3)); }));
  EXPECT_TRUE(refuses([&] { sum.merge(tops, std::span(bins).first(7), 1); }));
  EXPECT_TRUE(refuses([&] { sum.merge(std::span(tops).first(1), bins, 1); }));
  EXPECT_TRUE(refuses([&] { sum.merge(tops, bins, -1); }));
  sum.merge(tops, bins, ReproducibleSum::max_summands - 1);
  sum.add(std::vector<double>(2, 1.0));
  EXPECT_TRUE(refuses([&] { sum.add(std::vector<double>(2, 1.0)); }));
  EXPECT_EQ(sum.values(), std::vector<double>(2, 1.0));
}

}  // namespace
}  // namespace tessera

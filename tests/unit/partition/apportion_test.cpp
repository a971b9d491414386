// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <tessera/error.hpp>

#include <limits>
#include <random>

#include "check_shares.hpp"
#include "partition/apportion.hpp"

namespace TESSERA_NAMESPACE::detail {
namespace {

using Scores = std::vector<std::uint64_t>;
using Shares = std::vector<std::int64_t>;
constexpr std::int64_t max_units = std::numeric_limits<std::int64_t>::max();

Shares apportion(std::int64_t units, std::span<const std::uint64_t> scores) {
  Shares shares(scores.size());
  ApportionWorkspace workspace;
  apportion(units, scores, shares, workspace);
  return shares;
}

TEST(Apportion, Documented) {
  EXPECT_EQ(apportion(10, Scores{100, 50, 75}), (Shares{5, 2, 3}));
}

TEST(Apportion, TiesGoToTheHigherScoreThenTheLowerIndex) {
  EXPECT_EQ(apportion(1, Scores{5, 5, 5}), (Shares{1, 0, 0}));
  EXPECT_EQ(apportion(2, Scores{5, 5, 5}), (Shares{1, 1, 0}));
  // Quotas 0.5, 1.5, 0.5, 1.5 of 4 units: all remainders equal, the two higher scores win.
  EXPECT_EQ(apportion(4, Scores{1, 3, 1, 3}), (Shares{0, 2, 0, 2}));
  // Quotas 0.5, 0.5, 1.5, 0.5 of 3 units: one unit left after the higher score.
  EXPECT_EQ(apportion(3, Scores{1, 1, 3, 1}), (Shares{1, 0, 2, 0}));
}

TEST(Apportion, ZeroScores) {
  EXPECT_EQ(apportion(7, Scores{0, 0, 0}), (Shares{3, 2, 2}));
  EXPECT_EQ(apportion(7, Scores{0, 9, 0}), (Shares{0, 7, 0}));
  EXPECT_EQ(apportion(max_units, Scores{0, 0}), (Shares{max_units / 2 + 1, max_units / 2}));
  EXPECT_EQ(apportion(3, Scores{0}), (Shares{3}));
}

TEST(Apportion, NoUnitsOrNoScores) {
  EXPECT_EQ(apportion(0, Scores{4, 0, 2}), (Shares{0, 0, 0}));
  EXPECT_EQ(apportion(0, Scores{0, 0}), (Shares{0, 0}));
  EXPECT_EQ(apportion(9, Scores{}), Shares{});
}

TEST(Apportion, RefusesWhatItCannotDo) {
  const auto code_of = [](std::int64_t units, const Scores& scores) {
    try {
      (void)apportion(units, scores);
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::job_fault;
  };
  constexpr auto highest = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(code_of(-1, {1}), ErrorCode::usage);
  EXPECT_EQ(code_of(1, {highest, 1}), ErrorCode::usage);
  EXPECT_EQ(
      wrong_with_shares(max_units, Scores{highest - 1, 1}, apportion(max_units, Scores{highest - 1, 1})), "");
}

TEST(Apportion, ExactWhereFloatingPointIsNot) {
  // Quotas differ from whole numbers by less than 2^-53 of their size.
  const Scores scores{(1ULL << 40) - 1, 1ULL << 40, (1ULL << 40) + 1, 1, 0};
  for (const std::int64_t units : {max_units, max_units - 1, (std::int64_t{1} << 53) + 1})
    EXPECT_EQ(wrong_with_shares(units, scores, apportion(units, scores)), "") << units;
}

TEST(Apportion, RandomAgainstExactArithmetic) {
  constexpr std::uint64_t seed = 20260731;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 3000; ++round) {
    Scores scores(1 + random() % 40);
    const int bits = static_cast<int>(random() % 41);  // few bits: many ties and zeros
    for (auto& score : scores) score = random() & ((1ULL << bits) - 1);
    const auto units = static_cast<std::int64_t>(random() >> (1 + random() % 63));
    ASSERT_EQ(wrong_with_shares(units, scores, apportion(units, scores)), "") << "round " << round;
  }
}

TEST(Apportion, AMillionDevices) {
  constexpr std::uint64_t seed = 7;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  Scores scores(1'000'000);
  for (auto& score : scores) score = random() % 5 == 0 ? 0 : random() >> 24;
  EXPECT_EQ(wrong_with_shares(max_units, scores, apportion(max_units, scores)), "");
  for (auto& score : scores) score %= 3;  // a million ties
  EXPECT_EQ(wrong_with_shares(1'234'567, scores, apportion(1'234'567, scores)), "");
}

TEST(CheckShares, CanFail) {
  const Scores scores{100, 50, 75};
  const auto wrong = [&](const Shares& shares) { return wrong_with_shares(10, scores, shares); };
  EXPECT_EQ(wrong({5, 2, 3}), "");
  EXPECT_NE(wrong({5, 2, 2}), "");
  EXPECT_NE(wrong({4, 3, 3}), "");
  EXPECT_NE(wrong({4, 2, 4}), "");
  EXPECT_NE(wrong({6, 1, 3}), "");
  EXPECT_NE(wrong_with_shares(1, Scores{5, 5}, Shares{0, 1}), "");
  EXPECT_NE(wrong_with_shares(3, Scores{0, 0}, Shares{1, 2}), "");
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::detail

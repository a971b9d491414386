// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <tessera/error.hpp>
#include <tessera/partition/plan.hpp>

#include <algorithm>
#include <limits>
#include <random>

#include "check_shares.hpp"
#include "support/errors.hpp"

namespace tessera {

void PrintTo(const PlannedTile& tile, std::ostream* out) {
  *out << tile.rank << '.' << tile.device << " [" << tile.units.begin << ", " << tile.units.end << ')';
}

namespace {

using Scores = std::vector<std::uint64_t>;
using Offsets = std::vector<std::int64_t>;
using Tiles = std::vector<PlannedTile>;
constexpr std::int64_t max_units = std::numeric_limits<std::int64_t>::max();

Tiles tiles_of(const Plan& plan) {
  return {plan.tiles().begin(), plan.tiles().end()};
}

/// The number of blocks of `range`. A short last block counts as one.
std::int64_t blocks_in(Range range, std::int64_t block) {
  return range.size() / block + (range.size() % block != 0 ? 1 : 0);
}

/// The fault of a plan over devices, by definition; empty if there is none.
std::string wrong_with_plan(const Plan& plan, std::int64_t units, const Scores& scores,
                            const Offsets& offsets, std::int64_t block) {
  if (plan.units() != units || plan.block() != block || !plan.on_devices()) return "the header is wrong";
  if (plan.ranks() != static_cast<int>(offsets.size()) - 1) return "the number of ranks is wrong";

  std::vector<std::int64_t> shares(scores.size(), 0);  // in blocks
  std::int64_t covered = 0;
  const PlannedTile* before = nullptr;
  for (const auto& tile : plan.tiles()) {
    if (tile.units.empty()) return "a tile is empty";
    if (tile.units.begin != covered) return "there is a gap or an overlap";
    if (tile.units.begin % block != 0) return "a tile begins inside a block";
    covered = tile.units.end;
    const auto place = static_cast<std::size_t>(offsets[static_cast<std::size_t>(tile.rank)] + tile.device);
    if (shares.at(place) != 0) return "a device has two tiles";
    shares[place] = blocks_in(tile.units, block);
    if (before != nullptr && before->rank > tile.rank) return "ranks are out of order";
    if (before != nullptr && before->rank == tile.rank) {
      const auto place_before = static_cast<std::size_t>(place - tile.device + before->device);
      if (scores[place_before] < scores[place]) return "a lower score comes first";
      if (scores[place_before] == scores[place] && before->device > tile.device) return "a tie is reversed";
    }
    before = &tile;
  }
  if (covered != units) return "units are left over";

  Scores totals;  // of the ranks that have a device
  Scores counts;  // of their devices
  std::vector<std::int64_t> rank_shares;
  std::size_t tile_count = 0;
  std::int64_t rank_begin = 0;
  for (std::size_t r = 0; r + 1 < offsets.size(); ++r) {
    const auto first = static_cast<std::size_t>(offsets[r]);
    const auto count = static_cast<std::size_t>(offsets[r + 1]) - first;
    const Range range = plan.range_of(static_cast<int>(r));
    const auto tiles = plan.tiles_of(static_cast<int>(r));
    if (range.begin != rank_begin) return "the range of a rank is wrong";
    if (tiles.data() != plan.tiles().data() + tile_count) return "the tiles of a rank are wrong";
    for (const auto& tile : tiles)
      if (tile.rank != static_cast<int>(r)) return "a rank has a tile of another";
    rank_begin = tiles.empty() ? rank_begin : tiles.back().units.end;
    if (range.end != rank_begin) return "the range of a rank is not its tiles";
    tile_count += tiles.size();
    if (count == 0) continue;
    std::uint64_t total = 0;
    std::int64_t mine = 0;
    for (std::size_t i = first; i < first + count; ++i) {
      total += scores[i];
      mine += shares[i];
    }
    if (const auto wrong = wrong_with_shares(mine, std::span(scores).subspan(first, count),
                                             std::span<const std::int64_t>(shares).subspan(first, count));
        !wrong.empty())
      return "inside rank " + std::to_string(r) + ": " + wrong;
    totals.push_back(total);
    counts.push_back(count);
    rank_shares.push_back(mine);
  }
  if (tile_count != plan.tiles().size()) return "a tile belongs to no rank";
  const bool all_zero = std::ranges::count(totals, 0U) == std::ssize(totals);
  const auto wrong = wrong_with_shares(blocks_in({0, units}, block), all_zero ? counts : totals, rank_shares);
  return wrong.empty() ? "" : "over ranks: " + wrong;
}

TEST(Plan, Documented) {
  const auto plan = Plan::over_devices(1000, Scores{100, 50, 75, 0}, Offsets{0, 2, 3, 4});
  EXPECT_EQ(tiles_of(plan), (Tiles{{0, 0, {0, 445}}, {0, 1, {445, 667}}, {1, 0, {667, 1000}}}));
  EXPECT_EQ(plan.range_of(0), (Range{0, 667}));
  EXPECT_EQ(plan.range_of(2), (Range{1000, 1000}));
  EXPECT_TRUE(plan.tiles_of(2).empty());
}

TEST(Plan, DevicesOfARankGoHighestScoreFirst) {
  const auto plan = Plan::over_devices(10, Scores{1, 3, 1, 5}, Offsets{0, 4});
  EXPECT_EQ(tiles_of(plan), (Tiles{{0, 3, {0, 5}}, {0, 1, {5, 8}}, {0, 0, {8, 9}}, {0, 2, {9, 10}}}));
}

TEST(Plan, AllScoresZeroSplitsEvenlyOverDevices) {
  const auto plan = Plan::over_devices(9, Scores{0, 0, 0}, Offsets{0, 0, 2, 2, 3});
  EXPECT_EQ(tiles_of(plan), (Tiles{{1, 0, {0, 3}}, {1, 1, {3, 6}}, {3, 0, {6, 9}}}));
  const auto weighted = Plan::over_devices(1200, Scores{0, 0, 0, 0}, Offsets{0, 3, 4},
                                           {.weights = [](std::int64_t unit) { return unit < 600 ? 1 : 3; }});
  EXPECT_EQ(tiles_of(weighted),
            (Tiles{{0, 0, {0, 600}}, {0, 1, {600, 800}}, {0, 2, {800, 1000}}, {1, 0, {1000, 1200}}}));
}

TEST(Plan, ARankOfZerosBesideOthersTakesNothing) {
  const auto plan = Plan::over_devices(9, Scores{0, 0, 4}, Offsets{0, 2, 3});
  EXPECT_EQ(tiles_of(plan), (Tiles{{1, 0, {0, 9}}}));
}

TEST(Plan, FewerUnitsThanDevices) {
  const auto plan = Plan::over_devices(1, Scores{5, 5, 5}, Offsets{0, 1, 2, 3});
  EXPECT_EQ(tiles_of(plan), (Tiles{{0, 0, {0, 1}}}));
  EXPECT_EQ(tiles_of(Plan::over_devices(0, Scores{5, 5}, Offsets{0, 2})), Tiles{});
}

TEST(Plan, TilesAreWholeBlocks) {
  const auto plan = Plan::over_devices(1050, Scores{1, 1}, Offsets{0, 1, 2}, 100);
  EXPECT_EQ(tiles_of(plan), (Tiles{{0, 0, {0, 600}}, {1, 0, {600, 1050}}}));
  const auto huge = Plan::over_devices(max_units, Scores{1, 1, 1}, Offsets{0, 2, 3}, max_units - 1);
  EXPECT_EQ(tiles_of(huge), (Tiles{{0, 0, {0, max_units - 1}}, {1, 0, {max_units - 1, max_units}}}));
}

TEST(Plan, WithoutDevicesIsOverHosts) {
  const auto plan = Plan::over_devices(10, Scores{}, Offsets{0, 0, 0, 0});
  EXPECT_FALSE(plan.on_devices());
  EXPECT_TRUE(plan.tiles().empty());
  EXPECT_EQ(plan.range_of(0), (Range{0, 4}));
  EXPECT_EQ(plan.range_of(2), (Range{7, 10}));
}

TEST(Plan, OverHosts) {
  const auto plan = Plan::over_hosts(max_units, 3, 1000);
  EXPECT_FALSE(plan.on_devices());
  EXPECT_EQ(plan.ranks(), 3);
  std::int64_t covered = 0;
  for (int r = 0; r < 3; ++r) {
    EXPECT_EQ(plan.range_of(r).begin, covered);
    EXPECT_EQ(plan.range_of(r).begin % 1000, 0);
    covered = plan.range_of(r).end;
    EXPECT_TRUE(plan.tiles_of(r).empty());
  }
  EXPECT_EQ(covered, max_units);
}

TEST(Plan, DefaultHasNothing) {
  const Plan plan;
  EXPECT_EQ(plan.ranks(), 0);
  EXPECT_TRUE(plan.tiles().empty());
  EXPECT_THROW((void)plan.range_of(0), Error);
}

TEST(Plan, RefusesWhatItCannotDo) {
  const auto refuses = [](auto&& make) { return error_if_any(ErrorCode::usage, make).has_value(); };
  const Scores two{1, 2};
  EXPECT_TRUE(refuses([&] { return Plan::over_devices(-1, two, Offsets{0, 2}); }));
  EXPECT_TRUE(refuses([&] { return Plan::over_devices(1, two, Offsets{0, 2}, 0); }));
  EXPECT_TRUE(refuses([&] { return Plan::over_devices(1, two, Offsets{}); }));
  EXPECT_TRUE(refuses([&] { return Plan::over_devices(1, two, Offsets{0}); }));
  EXPECT_TRUE(refuses([&] { return Plan::over_devices(1, two, Offsets{0, 1}); }));
  EXPECT_TRUE(refuses([&] { return Plan::over_devices(1, two, Offsets{1, 2}); }));
  EXPECT_TRUE(refuses([&] { return Plan::over_devices(1, two, Offsets{0, 3, 2}); }));
  EXPECT_TRUE(refuses([&] { return Plan::over_hosts(1, 0); }));
  EXPECT_TRUE(refuses([&] { return Plan::over_hosts(1, -1); }));
  EXPECT_TRUE(refuses([&] { return Plan::over_hosts(1, std::vector<int>{}); }));
  EXPECT_TRUE(refuses([&] { return Plan::over_hosts(1, std::vector<int>{1, 0}); }));
  const auto plan = Plan::over_devices(10, two, Offsets{0, 2});
  EXPECT_TRUE(refuses([&] { return plan.range_of(1); }));
  EXPECT_TRUE(refuses([&] { return plan.tiles_of(-1); }));
}

TEST(Plan, AFingerprintTellsPlansApart) {
  const auto of = [](const Scores& scores, std::int64_t units = 1000, std::int64_t block = 1) {
    return Plan::over_devices(units, scores, Offsets{0, 2, 3}, block).fingerprint();
  };
  const auto one = of({100, 50, 75});
  EXPECT_EQ(of({100, 50, 75}), one);
  EXPECT_NE(of({100, 50, 80}), one) << "another cut between ranks";
  EXPECT_NE(of({90, 60, 75}), one) << "another cut inside a rank";
  EXPECT_NE(of({50, 100, 75}), one) << "other devices";
  EXPECT_NE(of({100, 50, 75}, 1001), one);
  EXPECT_NE(of({100, 50, 75}, 1000, 10), one);
  EXPECT_NE(Plan::over_hosts(1000, 2).fingerprint(), Plan::over_hosts(1000, 3).fingerprint());
}

TEST(Plan, RandomAgainstExactArithmetic) {
  constexpr std::uint64_t seed = 9182736;
  std::mt19937_64 random(seed);
  for (int round = 0; round < 2000; ++round) {
    Scores scores;
    Offsets offsets{0};
    const auto ranks = 1 + random() % 12;
    const int bits = static_cast<int>(random() % 41);
    for (std::uint64_t r = 0; r < ranks; ++r) {
      for (auto d = random() % 6; d > 0; --d) scores.push_back(random() & ((1ULL << bits) - 1));
      offsets.push_back(static_cast<std::int64_t>(scores.size()));
    }
    if (scores.empty()) continue;
    const auto units = static_cast<std::int64_t>(random() >> (1 + random() % 63));
    const auto block = random() % 2 == 0 ? 1 : 1 + static_cast<std::int64_t>(random() >> (1 + random() % 63));
    const auto plan = Plan::over_devices(units, scores, offsets, block);
    ASSERT_EQ(wrong_with_plan(plan, units, scores, offsets, block), "")
        << "seed " << seed << ", round " << round;
  }
}

/// A million devices, distributed to ranks in several ways: many small ranks, few large ones, a single one.
class MillionDevices : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(MillionDevices, AgainstExactArithmetic) {
  constexpr std::uint64_t seed = 55;
  std::mt19937_64 random(seed);
  Scores scores(1'000'000);
  for (auto& score : scores) score = random() % 7 == 0 ? random() % 3 : random() >> 24;
  Offsets offsets{0};
  while (offsets.back() < 1'000'000)
    offsets.push_back(std::min<std::int64_t>(offsets.back() + GetParam(), 1'000'000));
  const auto plan = Plan::over_devices(max_units, scores, offsets);
  EXPECT_EQ(wrong_with_plan(plan, max_units, scores, offsets, 1), "") << "seed " << seed;
}

INSTANTIATE_TEST_SUITE_P(PerRank, MillionDevices, ::testing::Values(1, 7, 3000, 1'000'000));

TEST(PlanOverHosts, IsInProportionToThreads) {
  const std::vector<int> threads{1, 4, 3};
  const auto plan = Plan::over_hosts(805, threads, 10);
  EXPECT_FALSE(plan.on_devices());
  EXPECT_EQ(plan.range_of(0), (Range{0, 100}));
  EXPECT_EQ(plan.range_of(1), (Range{100, 510})) << "the 81st block";
  EXPECT_EQ(plan.range_of(2), (Range{510, 805}));
  EXPECT_EQ(Plan::over_hosts(805, std::vector<int>{2, 2}).fingerprint(),
            Plan::over_hosts(805, 2).fingerprint());
}

}  // namespace
}  // namespace tessera

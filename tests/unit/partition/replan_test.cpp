// SPDX-License-Identifier: Apache-2.0
// Plans without excluded devices have all units, none on such a device, in proportion to the remaining
// scores.
#include "partition/replan.hpp"

#include <tessera/partition/plan.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace tessera::testing {
namespace {

using detail::RemainingDevices;

/// A job whose devices and exclusions come from `random`.
RemainingDevices draw_devices(std::mt19937_64& random, bool keeps_one_a_rank) {
  RemainingDevices devices{.scores = {}, .rank_offsets = {0}, .excluded = {}};
  const auto ranks = 1 + random() % 6;
  for (std::uint64_t rank = 0; rank < ranks; ++rank) {
    const auto count = random() % 5;
    const auto kept = count > 0 ? random() % count : 0;
    for (std::uint64_t device = 0; device < count; ++device) {
      devices.scores.push_back(random() % 4 == 0 ? 0 : 1 + random() % 1000);
      devices.excluded.push_back(random() % 2 == 0 && !(keeps_one_a_rank && device == kept));
    }
    devices.rank_offsets.push_back(std::ssize(devices.scores));
  }
  return devices;
}

Plan draw_plan(std::mt19937_64& random, const RemainingDevices& devices, bool weighted) {
  const auto units = static_cast<std::int64_t>(random() % 3000);
  PlanOptions options{.block = 1 + static_cast<std::int64_t>(random() % 7)};
  if (weighted) options.weights = [](std::int64_t unit) { return static_cast<double>(unit % 13); };
  return Plan::over_devices(units, devices.scores, devices.rank_offsets, options);
}

/// Tiles in order, without gaps, of whole blocks, on remaining devices.
void expect_whole(const Plan& plan, const RemainingDevices& devices) {
  std::int64_t next = 0;
  for (const PlannedTile& tile : plan.tiles()) {
    EXPECT_EQ(tile.units.begin, next);
    EXPECT_FALSE(tile.units.empty());
    EXPECT_EQ(tile.units.begin % plan.block(), 0);
    EXPECT_FALSE(devices.is_excluded(tile)) << "rank " << tile.rank << " device " << tile.device;
    const Range mine = plan.range_of(tile.rank);
    EXPECT_LE(mine.begin, tile.units.begin);
    EXPECT_GE(mine.end, tile.units.end);
    next = tile.units.end;
  }
  EXPECT_EQ(next, plan.units());
}

double blocks_in(Range units, const Plan& plan) {
  return std::ceil(static_cast<double>(units.size()) / static_cast<double>(plan.block()));
}

bool has_any(const RemainingDevices& devices) {
  return std::ranges::find(devices.excluded, false) != devices.excluded.end();
}

TEST(Replan, RecutPlansCoverAllUnitsAndRanksKeepTheirs) {
  std::mt19937_64 random(20261123);
  for (int trial = 0; trial < 2000; ++trial) {
    const RemainingDevices devices = draw_devices(random, true);
    if (devices.scores.empty()) continue;
    const Plan plan = draw_plan(random, devices, trial % 2 == 0);
    ASSERT_EQ(detail::rank_without_device(plan, devices), std::nullopt);
    const Plan other = detail::recut(plan, devices);
    expect_whole(other, devices);
    for (int rank = 0; rank < plan.ranks(); ++rank) EXPECT_EQ(other.range_of(rank), plan.range_of(rank));
    EXPECT_EQ(other.fingerprint() == plan.fingerprint(), !detail::uses_excluded(plan, devices));
    if (HasFailure()) FAIL() << "trial " << trial;
  }
}

TEST(Replan, ARankWithoutAnExcludedDeviceKeepsItsTiles) {
  const std::vector<std::uint64_t> scores{10, 20, 30, 40};
  const RemainingDevices devices{scores, {0, 2, 4}, {false, true, false, false}};
  const Plan plan = Plan::over_devices(1000, scores, devices.rank_offsets);
  const Plan other = detail::recut(plan, devices);
  EXPECT_TRUE(std::ranges::equal(other.tiles_of(1), plan.tiles_of(1)));
  ASSERT_EQ(other.tiles_of(0).size(), 1U);
  EXPECT_EQ(other.tiles_of(0)[0], (PlannedTile{0, 0, plan.range_of(0)}));
}

TEST(Replan, SharesOfARankAreWithinABlockOfProportional) {
  std::mt19937_64 random(7);
  for (int trial = 0; trial < 500; ++trial) {
    const RemainingDevices devices = draw_devices(random, true);
    if (devices.scores.empty()) continue;
    const Plan plan = draw_plan(random, devices, false);
    const Plan other = detail::recut(plan, devices);
    for (int rank = 0; rank < plan.ranks(); ++rank) {
      const auto tiles = plan.tiles_of(rank);
      if (std::ranges::none_of(tiles, [&](const auto& tile) { return devices.is_excluded(tile); })) continue;
      const auto first = static_cast<std::size_t>(devices.rank_offsets[static_cast<std::size_t>(rank)]);
      const auto end = static_cast<std::size_t>(devices.rank_offsets[static_cast<std::size_t>(rank) + 1]);
      double total = 0;
      for (auto i = first; i < end; ++i)
        total += devices.excluded[i] ? 0 : static_cast<double>(devices.scores[i]);
      if (total == 0) continue;
      for (const PlannedTile& tile : other.tiles_of(rank)) {
        const double share =
            static_cast<double>(devices.scores[first + static_cast<std::size_t>(tile.device)]) / total;
        EXPECT_LT(std::abs(blocks_in(tile.units, plan) - share * blocks_in(plan.range_of(rank), plan)), 1)
            << "trial " << trial << " rank " << rank;
      }
    }
  }
}

TEST(Replan, AMoveGivesThePlanThatTheDevicesThatAreLeftWouldHaveHad) {
  std::mt19937_64 random(99);
  for (int trial = 0; trial < 1000; ++trial) {
    const RemainingDevices devices = draw_devices(random, false);
    if (!has_any(devices)) continue;
    const Plan plan = draw_plan(random, devices, false);
    const Plan other = detail::replanned(plan, devices);
    expect_whole(other, devices);
    // The same devices in a job that never had the others: only the indices differ.
    RemainingDevices alone{.scores = {}, .rank_offsets = {0}, .excluded = {}};
    for (std::size_t rank = 0; rank + 1 < devices.rank_offsets.size(); ++rank) {
      for (auto i = devices.rank_offsets[rank]; i < devices.rank_offsets[rank + 1]; ++i)
        if (!devices.excluded[static_cast<std::size_t>(i)])
          alone.scores.push_back(devices.scores[static_cast<std::size_t>(i)]);
      alone.rank_offsets.push_back(std::ssize(alone.scores));
    }
    const Plan expected = Plan::over_devices(plan.units(), alone.scores, alone.rank_offsets, plan.block());
    ASSERT_EQ(other.tiles().size(), expected.tiles().size()) << "trial " << trial;
    for (std::size_t i = 0; i < expected.tiles().size(); ++i) {
      EXPECT_EQ(other.tiles()[i].units, expected.tiles()[i].units) << "trial " << trial;
      EXPECT_EQ(other.tiles()[i].rank, expected.tiles()[i].rank) << "trial " << trial;
    }
  }
}

TEST(Replan, WeightsOfTheOldPlanAreKept) {
  // The last hundred units have nine times the work of the others, half of the total; three equal devices.
  const std::vector<std::uint64_t> scores{5, 5, 5, 5};
  const auto weight = [](std::int64_t unit) { return unit < 900 ? 1.0 : 9.0; };
  RemainingDevices devices{scores, {0, 1, 2, 3, 4}, {false, true, false, false}};
  const Plan plan = Plan::over_devices(1000, scores, devices.rank_offsets, {.weights = weight});
  const Plan other = detail::replanned(plan, devices);
  expect_whole(other, devices);
  for (const PlannedTile& tile : other.tiles()) {
    double work = 0;
    for (auto unit = tile.units.begin; unit < tile.units.end; ++unit) work += weight(unit);
    EXPECT_NEAR(work, 600, 9) << "device " << tile.rank;
  }
}

TEST(Replan, ARankWithUnitsAndNoDeviceIsFound) {
  const std::vector<std::uint64_t> scores{1, 1, 1};
  const RemainingDevices devices{scores, {0, 1, 2, 3}, {false, true, true}};
  EXPECT_EQ(detail::rank_without_device(Plan::over_devices(30, scores, devices.rank_offsets), devices), 1);
  // Its unit goes to another device.
  EXPECT_EQ(detail::rank_without_device(Plan::over_devices(1, scores, devices.rank_offsets), devices),
            std::nullopt);
}

}  // namespace
}  // namespace tessera::testing

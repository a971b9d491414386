// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <tessera/error.hpp>
#include <tessera/topology/inventory.hpp>

#include <vector>

namespace tessera {
namespace {

InventoryDevice device(int rank, int index, std::uint64_t score) {
  InventoryDevice out;
  out.rank = rank;
  out.index = index;
  out.score = score;
  return out;
}

std::vector<InventoryRank> three_ranks() {
  std::vector<InventoryRank> ranks(3);
  for (int rank = 0; rank < 3; ++rank) {
    ranks[static_cast<std::size_t>(rank)].rank = rank;
    ranks[static_cast<std::size_t>(rank)].node = rank / 2;
  }
  return ranks;
}

TEST(Inventory, FindsTheDevicesOfARank) {
  const Inventory inventory(three_ranks(), {device(2, 0, 75), device(0, 1, 50), device(0, 0, 100)});
  EXPECT_EQ(inventory.nodes(), 2);
  ASSERT_EQ(inventory.devices().size(), 3U);
  ASSERT_EQ(inventory.devices_of(0).size(), 2U);
  EXPECT_EQ(inventory.devices_of(0)[0].score, 100U);
  EXPECT_EQ(inventory.devices_of(0)[1].score, 50U);
  EXPECT_TRUE(inventory.devices_of(1).empty());
  EXPECT_EQ(inventory.devices_of(2)[0].score, 75U);
}

TEST(Inventory, RefusesRanksThatAreNotThere) {
  const Inventory inventory(three_ranks(), {});
  EXPECT_THROW(static_cast<void>(inventory.devices_of(3)), Error);
  EXPECT_THROW(static_cast<void>(inventory.devices_of(-1)), Error);
  EXPECT_THROW(Inventory(three_ranks(), {device(3, 0, 1)}), Error);
}

TEST(Inventory, PlansInProportionToTheScores) {
  const Inventory inventory(three_ranks(), {device(0, 0, 100), device(0, 1, 50), device(2, 0, 75)});
  const auto plan = inventory.plan(900);
  EXPECT_TRUE(plan.on_devices());
  EXPECT_EQ(plan.range_of(0), (Range{0, 600}));
  EXPECT_TRUE(plan.range_of(1).empty());
  EXPECT_EQ(plan.range_of(2), (Range{600, 900}));
}

TEST(Inventory, WithoutDevicesPlansOverTheHosts) {
  const auto plan = Inventory(three_ranks(), {}).plan(10, 2);
  EXPECT_FALSE(plan.on_devices());
  EXPECT_EQ(plan.ranks(), 3);
  EXPECT_EQ(plan.block(), 2);
  EXPECT_EQ(plan.range_of(2).end, 10);
}

}  // namespace
}  // namespace tessera

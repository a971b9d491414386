// SPDX-License-Identifier: Apache-2.0
#include "job/tile/tile_cut.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(TileCuts, ATileThatFitsIsOnePartWithTheWholeBudget) {
  for (const std::int64_t bytes : {0, 1, 10}) {
    const TileCut cut = cut_of_tile(100, 8, bytes, 1000, 4);
    EXPECT_EQ(cut.part_units, 100) << bytes;
    EXPECT_EQ(cut.lanes, 1) << bytes;
    EXPECT_EQ(cut.budget_bytes, 1000) << bytes;
  }
}

TEST(TileCuts, PartsAreWholeBlocksThatFitTogetherAndEveryLaneHasAsMany) {
  for (std::int64_t units = 1; units < 200; units += 3) {
    for (std::int64_t budget = 0; budget < 220; budget += 7) {
      for (const std::int64_t block : {1, 5, 8}) {
        for (const int most : {1, 2, 3, 8}) {
          const TileCut cut = cut_of_tile(units, block, 3, 3 * budget, most);
          if (budget >= units) continue;
          if (budget < block) {
            EXPECT_EQ(cut.part_units, 0);
            continue;
          }
          EXPECT_EQ(cut.part_units % block, 0);
          EXPECT_LE(cut.lanes * cut.part_units, budget);
          EXPECT_LE(3 * cut.part_units, cut.budget_bytes);
          EXPECT_LE(cut.lanes * cut.budget_bytes, 3 * budget);
          EXPECT_EQ(cut.lanes, std::min<std::int64_t>(most, budget / block));
          const std::int64_t parts = (units - 1) / cut.part_units + 1;
          EXPECT_GE(parts, cut.lanes);
          const std::int64_t fewest = (units - 1) / (budget / block / cut.lanes * block) + 1;
          EXPECT_LT(parts, fewest + cut.lanes);
        }
      }
    }
  }
}

TEST(TileCuts, OneLaneTakesTheFewestParts) {
  EXPECT_EQ(cut_of_tile(100, 10, 1, 45, 1).part_units, 40) << "three parts of 40, 40 and 20";
  EXPECT_EQ(cut_of_tile(100, 10, 1, 45, 2).part_units, 20) << "six parts would be five";
  EXPECT_EQ(cut_of_tile(100, 10, 1, 15, 2).lanes, 1) << "two blocks do not fit";
}

}  // namespace
}  // namespace tessera

// SPDX-License-Identifier: Apache-2.0
#include "support/errors.hpp"

#include <gtest/gtest.h>
#include <tessera/error.hpp>
#include <tessera/topology/simulate.hpp>

#include <set>
#include <string>
#include <vector>

namespace tessera {
namespace {

std::vector<std::string> names(std::string_view text, int rank) {
  std::vector<std::string> out;
  for (const auto& device : simulated_devices(text, rank)) out.push_back(device.name);
  return out;
}

constexpr auto example = "rank0:2xH200; rank1:T4; *:A100+T4";

TEST(Simulate, GivesEachRankItsModels) {
  EXPECT_EQ(names(example, 0), (std::vector<std::string>{"Simulated NVIDIA H200", "Simulated NVIDIA H200"}));
  EXPECT_EQ(names(example, 1), std::vector<std::string>{"Simulated Tesla T4"});
  EXPECT_EQ(names(example, 2),
            (std::vector<std::string>{"Simulated NVIDIA A100-SXM4-80GB", "Simulated Tesla T4"}));
}

TEST(Simulate, TheFirstEntryThatNamesTheRankCounts) {
  EXPECT_EQ(names("*:T4; rank0:H200", 0), std::vector<std::string>{"Simulated Tesla T4"});
}

TEST(Simulate, ARankThatNoneNamesHasNone) {
  EXPECT_TRUE(names("rank0:T4", 1).empty());
  EXPECT_TRUE(names("", 0).empty());
  EXPECT_TRUE(names(" ; ", 0).empty());
}

TEST(Simulate, BlanksDoNotMatter) {
  EXPECT_EQ(names("  rank3 : 2 x T4 + H100 @node ;", 3).size(), 3U);
}

TEST(Simulate, OwnDevicesDifferBetweenRanksAndAreTheSameEachTime) {
  std::set<Uuid> seen;
  for (int rank = 0; rank < 8; ++rank)
    for (const auto& device : simulated_devices("*:3xH200", rank)) seen.insert(device.uuid);
  EXPECT_EQ(seen.size(), 24U);
  EXPECT_EQ(simulated_devices(example, 2).at(1).uuid, simulated_devices(example, 2).at(1).uuid);
}

TEST(Simulate, DevicesOfANodeAreTheSameForAllRanks) {
  const auto first = simulated_devices("*:4xH200@node", 0);
  const auto second = simulated_devices("*:4xH200@node", 5);
  ASSERT_EQ(first.size(), 4U);
  std::set<Uuid> seen;
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].uuid, second[i].uuid);
    seen.insert(first[i].uuid);
  }
  EXPECT_EQ(seen.size(), 4U);
  EXPECT_NE(simulated_devices("*:H200", 0).at(0).uuid, first[0].uuid);
}

TEST(Simulate, TwoEntriesOfANodeAreTwoSetsOfDevices) {
  constexpr auto text = "rank0:H200@node; *:H200@node";
  EXPECT_NE(simulated_devices(text, 0).at(0).uuid, simulated_devices(text, 1).at(0).uuid);
}

TEST(Simulate, DevicesHaveTheirModelsFiguresAndNoPlace) {
  const auto h200 = simulated_devices("*:H200", 0).at(0);
  EXPECT_TRUE(h200.simulated);
  EXPECT_FALSE(h200.mig());
  EXPECT_EQ(h200.capability, (ComputeCapability{9, 0}));
  EXPECT_EQ(h200.multiprocessors, 132);
  EXPECT_EQ(h200.total_memory_bytes, std::int64_t{141} << 30);
  EXPECT_EQ(h200.shared_memory_per_block_bytes, 227 << 10);
  EXPECT_EQ(h200.threads_per_multiprocessor, 2048);
  EXPECT_EQ(h200.numa_node, -1);
  EXPECT_EQ(h200.near_cpuset, "");
}

TEST(Simulate, RefusesAndNamesWhatItCannotRead) {
  for (const char* wrong :
       {"H200", "rank:H200", "rankx:H200", "rank-1:H200", "*:", "*:B52", "*:0xT4", "*:-1xT4", "*:2000xT4",
        "*:T4+", "*:+T4", "*:T4++T4", "*:xT4", "*:T4@home", "rank0:T4; nonsense"}) {
    // A rank that the wrong entry does not concern refuses it too.
    for (const int rank : {0, 7}) {
      const std::string said = error_of(
          ErrorCode::usage, [&] { static_cast<void>(simulated_devices(wrong, rank)); }, wrong);
      EXPECT_EQ(said.rfind("TESSERA_SIMULATE: cannot read", 0), 0U) << said;
    }
  }
}

}  // namespace
}  // namespace tessera

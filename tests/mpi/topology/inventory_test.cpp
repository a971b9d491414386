// SPDX-License-Identifier: Apache-2.0
// probe, claim and inventory with real ranks and simulated devices.
#include "support/errors.hpp"

#include <gtest/gtest.h>
#include <mpi.h>
#include <tessera/error.hpp>
#include <tessera/topology/inventory.hpp>

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace tessera {
namespace {

class InventoryTest : public ::testing::Test {
 protected:
  void TearDown() override { unsetenv("TESSERA_SIMULATE"); }

  Inventory gather(const char* simulation, bool allow_sharing = false) {
    setenv("TESSERA_SIMULATE", simulation, 1);
    const auto seen = probe(rank_);
    mine_ = {};  // its devices are free again
    mine_ = claim(comm_, seen, allow_sharing);
    std::vector<std::uint64_t> scores;
    for (const auto& device : mine_.devices) scores.push_back(score(device.info, ScoreModel::throughput));
    return gather_inventory(comm_, seen, mine_, scores);
  }

  /// The whole content of an inventory, to compare between ranks.
  static std::string text_of(const Inventory& inventory) {
    std::ostringstream out;
    for (const auto& r : inventory.ranks())
      out << r.rank << ' ' << r.node << ' ' << r.hostname << ' ' << r.cpuset << ' ' << r.allowed_cores << ' '
          << r.allowed_threads << ' ' << r.absence << r.usable_threads << r.fair_threads
          << r.fair_threads_from << '\n';
    for (const auto& d : inventory.devices())
      out << d.rank << ' ' << d.index << ' ' << to_string(d.uuid) << ' ' << to_string(d.pci) << ' ' << d.name
          << ' ' << d.capability.major << d.capability.minor << ' ' << d.multiprocessors << ' '
          << d.total_memory_bytes << ' ' << d.memory_budget_bytes << ' ' << d.numa_node << d.sharers
          << d.simulated << ' ' << d.score << '\n';
    return out.str();
  }

  const mpi::Communicator comm_ = mpi::Communicator::duplicate_of(MPI_COMM_WORLD);
  const int rank_ = comm_.rank();
  const int ranks_ = comm_.size();
  Claim mine_;
};

TEST_F(InventoryTest, IsTheSameOnEveryRank) {
  for (const char* simulation : {"*:4xH200@node", "rank0:2xH200; rank1:T4; *:A100+T4", "rank0:T4"}) {
    const auto inventory = gather(simulation);
    const auto mine = text_of(inventory);
    for (const auto& other : comm_.allgather_text(mine)) EXPECT_EQ(other, mine) << simulation;
  }
}

TEST_F(InventoryTest, HoldsWhatEachRankClaimed) {
  const auto inventory = gather("rank0:2xH200; *:T4");
  ASSERT_EQ(static_cast<int>(inventory.ranks().size()), ranks_);
  EXPECT_EQ(inventory.nodes(), 1);
  EXPECT_EQ(static_cast<int>(inventory.devices().size()), ranks_ + 1);
  const auto devices = inventory.devices_of(rank_);
  ASSERT_EQ(devices.size(), mine_.devices.size());
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const auto& info = mine_.devices[i].info;
    EXPECT_EQ(devices[i].index, static_cast<int>(i));
    EXPECT_EQ(devices[i].uuid, info.uuid);
    EXPECT_EQ(devices[i].pci, info.pci);
    EXPECT_EQ(devices[i].name, info.name);
    EXPECT_EQ(devices[i].capability, info.capability);
    EXPECT_EQ(devices[i].multiprocessors, info.multiprocessors);
    EXPECT_EQ(devices[i].total_memory_bytes, info.total_memory_bytes);
    EXPECT_EQ(devices[i].memory_budget_bytes, info.memory_budget_bytes());
    EXPECT_EQ(devices[i].score, score(info, ScoreModel::throughput));
    EXPECT_TRUE(devices[i].simulated);
  }
  EXPECT_EQ(inventory.ranks()[static_cast<std::size_t>(rank_)].absence, "");
  EXPECT_GE(inventory.ranks()[static_cast<std::size_t>(rank_)].allowed_cores, 1);
}

TEST_F(InventoryTest, SaysWhyARankDrivesNothing) {
  const auto inventory = gather("rank0:T4");
  for (int rank = 1; rank < ranks_; ++rank)
    EXPECT_EQ(inventory.ranks()[static_cast<std::size_t>(rank)].absence,
              "TESSERA_SIMULATE gives rank " + std::to_string(rank) + " no device");
}

TEST_F(InventoryTest, SharersDivideScoreAndMemory) {
  const auto inventory = gather("*:H200@node", true);
  ASSERT_EQ(static_cast<int>(inventory.devices().size()), ranks_);
  const auto whole = score(mine_.devices.at(0).info, ScoreModel::throughput);
  for (const auto& device : inventory.devices()) {
    EXPECT_EQ(device.sharers, ranks_);
    EXPECT_EQ(device.score, whole / static_cast<std::uint64_t>(ranks_));
    EXPECT_EQ(device.memory_budget_bytes, mine_.devices[0].info.memory_budget_bytes() / ranks_);
  }
}

TEST_F(InventoryTest, APlanIsTheSameOnEveryRankAndComplete) {
  constexpr std::int64_t units = 1000003;
  const auto plan = gather("rank0:2xH200; *:A100+T4").plan(units);
  std::int64_t next = 0;
  for (const auto& tile : plan.tiles()) {
    EXPECT_EQ(tile.units.begin, next);
    next = tile.units.end;
  }
  EXPECT_EQ(next, units);
  const auto mine = plan.range_of(rank_);
  EXPECT_EQ(comm_.allreduce(mine.size(), mpi::Reduction::sum), units);
}

TEST_F(InventoryTest, WithoutDevicesThePlanIsForTheHosts) {
  const auto plan = gather("rank99:T4").plan(100);
  EXPECT_FALSE(plan.on_devices());
  EXPECT_EQ(comm_.allreduce(plan.range_of(rank_).size(), mpi::Reduction::sum), 100);
}

TEST_F(InventoryTest, AMistakeOfOneRankIsAnErrorOnAll) {
  setenv("TESSERA_SIMULATE", "*:T4", 1);
  const auto seen = probe(rank_);
  const auto claimed = claim(comm_, seen, false);
  std::vector<std::uint64_t> scores{100};
  if (rank_ + 1 == ranks_) scores.clear();
  expect_error(ErrorCode::usage, "rank " + std::to_string(ranks_ - 1),
               [&] { static_cast<void>(gather_inventory(comm_, seen, claimed, scores)); });
}

TEST_F(InventoryTest, LongTextsAreCut) {
  setenv("TESSERA_SIMULATE", "*:T4", 1);
  auto seen = probe(rank_);
  auto claimed = claim(comm_, seen, false);
  seen.host.hostname.assign(500, 'h');
  seen.host.allowed_cpuset.assign(5000, '1');
  claimed.devices.at(0).info.name.assign(500, 'n');
  const std::vector<std::uint64_t> scores{1};
  const auto inventory = gather_inventory(comm_, seen, claimed, scores);
  EXPECT_EQ(inventory.ranks()[0].hostname, std::string(71, 'h'));
  EXPECT_EQ(inventory.ranks()[0].cpuset, std::string(255, '1'));
  EXPECT_EQ(inventory.devices_of(ranks_ - 1)[0].name, std::string(71, 'n'));
}

}  // namespace
}  // namespace tessera

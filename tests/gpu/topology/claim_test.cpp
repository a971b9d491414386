// SPDX-License-Identifier: Apache-2.0
// Invariant 1 on real GPUs: whatever each rank sees, no GPU is driven by two ranks, and no visible GPU is
// idle.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <tessera/topology/inventory.hpp>
#include <tessera/topology/probe.hpp>
#include <vector>

namespace tessera {
namespace {

class RealClaim : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"CUDA_VISIBLE_DEVICES", "TESSERA_SIMULATE"}) ::unsetenv(name);
    setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
    const Probe all = probe();
    if (all.absence) GTEST_SKIP() << all.absence->message;
    gpus_ = static_cast<int>(all.devices.size());
  }
  void TearDown() override { ::unsetenv("CUDA_VISIBLE_DEVICES"); }

  /// Claims with CUDA_VISIBLE_DEVICES set to `visible` on this rank (null: unset), and checks the outcome.
  void claim_and_check(const char* visible, bool allow_sharing = false) {
    if (visible != nullptr) {
      ::setenv("CUDA_VISIBLE_DEVICES", visible, 1);
    } else {
      ::unsetenv("CUDA_VISIBLE_DEVICES");
    }
    const Probe here = probe();
    const Claim mine = claim(comm_, here, allow_sharing);
    std::vector<std::uint64_t> scores;
    for (const auto& device : mine.devices) scores.push_back(score(device.info, ScoreModel::throughput));
    const Inventory inventory = gather_inventory(comm_, here, mine, scores);

    std::set<Uuid> seen_by_any;
    std::vector<Uuid> seen;
    for (const auto& device : here.devices) seen.push_back(device.info.uuid);
    for (const Uuid& uuid : comm_.allgatherv(std::span<const Uuid>(seen))) seen_by_any.insert(uuid);
    std::set<Uuid> driven;
    for (const auto& device : inventory.devices()) {
      EXPECT_TRUE(driven.insert(device.uuid).second || allow_sharing) << to_string(device.uuid);
    }
    EXPECT_EQ(driven, seen_by_any);
    const auto idle = std::count_if(inventory.ranks().begin(), inventory.ranks().end(),
                                    [](const auto& rank) { return !rank.absence.empty(); });
    if (visible == nullptr) {
      EXPECT_EQ(idle, allow_sharing ? 0 : std::max(0, comm_.size() - gpus_));
    }
    const auto plan = inventory.plan(1000003);
    EXPECT_EQ(plan.tiles().front().units.begin, 0);
    EXPECT_EQ(plan.tiles().back().units.end, 1000003);
  }

  const mpi::Communicator comm_ = mpi::Communicator::duplicate_of(MPI_COMM_WORLD);
  int gpus_ = 0;
};

TEST_F(RealClaim, EveryRankSeesAll) {
  claim_and_check(nullptr);
}

TEST_F(RealClaim, EveryRankSeesAllAndMayShare) {
  claim_and_check(nullptr, true);
}

TEST_F(RealClaim, EachRankSeesOne) {
  claim_and_check(std::to_string(comm_.rank() % gpus_).c_str());
}

TEST_F(RealClaim, SubsetsOverlap) {
  if (gpus_ < 2) GTEST_SKIP() << "needs two GPUs";
  const int first = comm_.rank() % gpus_;
  claim_and_check((std::to_string(first) + "," + std::to_string((first + 1) % gpus_)).c_str());
}

}  // namespace
}  // namespace tessera

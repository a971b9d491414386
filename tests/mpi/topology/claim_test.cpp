// SPDX-License-Identifier: Apache-2.0
// The claim with real ranks. Most tests set the probe: the devices that a rank sees, and its machine.
#include "support/errors.hpp"

#include <gtest/gtest.h>
#include <mpi.h>
#include <tessera/topology/claim.hpp>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tessera {
namespace {

/// The drivers of each device, as gathered from all ranks; every rank can check it.
struct Driven {
  int rank = 0;
  int node = 0;
  Uuid uuid;
  int sharers = 0;
};

constexpr std::int64_t memory_bytes = std::int64_t{16} << 30;

class ClaimTest : public ::testing::Test {
 protected:
  static Uuid device(int number, bool mig = false) {
    Uuid uuid;
    uuid.bytes[0] = static_cast<std::uint8_t>(number);
    uuid.mig = mig;
    return uuid;
  }

  /// A rank of machine `hostname` that sees `uuids`, all equally near.
  static Probe sees(const std::vector<Uuid>& uuids, const std::string& hostname = "node0") {
    Probe probe;
    probe.host.hostname = hostname;
    probe.host.boot_id = "1b4e28ba-2fa1-11d2-883f-0016d3cca427";
    for (const auto& uuid : uuids) {
      ProbedDevice seen;
      seen.info.uuid = uuid;
      seen.info.total_memory_bytes = memory_bytes;
      seen.info.free_memory_bytes = memory_bytes;
      seen.info.simulated = true;  // so that no other program on this machine has the same
      probe.devices.push_back(seen);
    }
    if (uuids.empty()) probe.absence = Absence{Absence::Reason::driver_error, "the driver does not answer"};
    return probe;
  }

  static std::vector<Uuid> devices(int count) {
    std::vector<Uuid> uuids;
    for (int i = 0; i < count; ++i) uuids.push_back(device(i));
    return uuids;
  }

  /// Claims, and checks what holds for every claim: an absence exactly if there is no device, only devices
  /// that the rank sees, and the right number of sharers.
  std::vector<Driven> agree(const Probe& probe, bool allow_sharing = false) {
    mine_ = claim(comm_, probe, allow_sharing);
    EXPECT_EQ(mine_.devices.empty(), mine_.absence.has_value());
    std::vector<Driven> told;
    for (const auto& claimed : mine_.devices) {
      EXPECT_TRUE(std::any_of(probe.devices.begin(), probe.devices.end(),
                              [&](const auto& seen) { return seen.info.uuid == claimed.info.uuid; }));
      told.push_back({rank_, mine_.node, claimed.info.uuid, claimed.sharers});
    }
    const auto all = comm_.allgatherv(std::span<const Driven>(told));
    std::map<std::pair<int, Uuid>, int> drivers;
    for (const auto& driven : all) ++drivers[{driven.node, driven.uuid}];
    for (const auto& driven : all) EXPECT_EQ(driven.sharers, (drivers[{driven.node, driven.uuid}]));
    return all;
  }

  static void expect_each_driven_once(const std::vector<Driven>& all, const std::vector<Uuid>& wanted) {
    std::multiset<Uuid> found;
    for (const auto& driven : all) found.insert(driven.uuid);
    EXPECT_EQ(std::vector<Uuid>(found.begin(), found.end()), wanted);
  }

  static int devices_of(const std::vector<Driven>& all, int rank) {
    return static_cast<int>(std::count_if(all.begin(), all.end(), [=](auto& d) { return d.rank == rank; }));
  }

  const mpi::Communicator comm_ = mpi::Communicator::duplicate_of(MPI_COMM_WORLD);
  const int rank_ = comm_.rank();
  const int ranks_ = comm_.size();
  Claim mine_;
};

TEST_F(ClaimTest, EveryRankSeesAsManyAsThereAreRanks) {
  const auto all = agree(sees(devices(ranks_)));
  expect_each_driven_once(all, devices(ranks_));
  ASSERT_EQ(mine_.devices.size(), 1U);
  EXPECT_EQ(mine_.devices[0].info.uuid, device(rank_)) << "lower ranks get lower UUIDs where all is equal";
  EXPECT_EQ(mine_.node, 0);
  EXPECT_EQ(mine_.nodes, 1);
}

TEST_F(ClaimTest, EachRankSeesOne) {
  // The order is reversed, so that neither the rank nor the ordinal (0 everywhere) is the answer.
  const auto all = agree(sees({device(ranks_ - 1 - rank_)}));
  expect_each_driven_once(all, devices(ranks_));
  ASSERT_EQ(mine_.devices.size(), 1U);
  EXPECT_EQ(mine_.devices[0].info.uuid, device(ranks_ - 1 - rank_));
}

TEST_F(ClaimTest, OverlappingSubsets) {
  // Rank r sees devices r and r + 1, in descending order: a chain in which each rank must take its own.
  const auto all = agree(sees({device(rank_ + 1), device(rank_)}));
  expect_each_driven_once(all, devices(ranks_ + 1));
  for (int rank = 0; rank < ranks_; ++rank) EXPECT_GE(devices_of(all, rank), 1) << rank;
}

TEST_F(ClaimTest, ARankThatSeesLittleIsServedByThoseThatSeeMore) {
  // All see everything except the last rank, which sees only device 0.
  const auto all = agree(sees(rank_ + 1 == ranks_ ? std::vector{device(0)} : devices(ranks_)));
  for (int rank = 0; rank < ranks_; ++rank) EXPECT_GE(devices_of(all, rank), 1) << rank;
  if (rank_ + 1 == ranks_) {
    EXPECT_EQ(mine_.devices.at(0).info.uuid, device(0));
  }
}

TEST_F(ClaimTest, NearestFirst) {
  // There are as many devices as ranks, and rank r is nearest to device ranks - 1 - r.
  Probe probe = sees(devices(ranks_));
  for (int i = 0; i < ranks_; ++i)
    probe.devices[static_cast<std::size_t>(i)].distance = i == ranks_ - 1 - rank_ ? 0 : 2;
  agree(probe);
  ASSERT_EQ(mine_.devices.size(), 1U);
  EXPECT_EQ(mine_.devices[0].info.uuid, device(ranks_ - 1 - rank_));
}

TEST_F(ClaimTest, MoreGpusThanRanks) {
  const auto all = agree(sees(devices(2 * ranks_ + 1)));
  expect_each_driven_once(all, devices(2 * ranks_ + 1));
  EXPECT_EQ(mine_.devices.size(), rank_ == 0 ? 3U : 2U);
}

TEST_F(ClaimTest, MoreRanksThanGpusWithoutSharing) {
  const auto all = agree(sees({device(0)}));
  expect_each_driven_once(all, devices(1));
  EXPECT_EQ(all[0].rank, 0);
  if (rank_ > 0) {
    ASSERT_TRUE(mine_.absence);
    EXPECT_EQ(mine_.absence->reason, Absence::Reason::none_left);
    EXPECT_NE(mine_.absence->message.find("the one GPU"), std::string::npos) << mine_.absence->message;
  }
}

TEST_F(ClaimTest, ABrokenGpuIsNoReasonToStartFewerRanks) {
  Probe probe = sees({device(0)});
  probe.broken = {"GPU 1: GPU is lost"};
  agree(probe);
  if (rank_ == 0) return;
  ASSERT_TRUE(mine_.absence);
  EXPECT_TRUE(contains(mine_.absence->message, "the driver cannot read GPU 1: GPU is lost"));
  EXPECT_EQ(mine_.absence->message.find("fewer ranks"), std::string::npos) << mine_.absence->message;
}

TEST_F(ClaimTest, MoreRanksThanGpusWithSharing) {
  const int gpus = (ranks_ + 2) / 3;
  const auto all = agree(sees(devices(gpus)), true);
  EXPECT_EQ(static_cast<int>(all.size()), ranks_);
  ASSERT_EQ(mine_.devices.size(), 1U);
  EXPECT_LE(mine_.devices[0].sharers, 3);
}

TEST_F(ClaimTest, SharingIsNotUsedWhereThereIsEnough) {
  const auto all = agree(sees(devices(ranks_)), true);
  expect_each_driven_once(all, devices(ranks_));
}

TEST_F(ClaimTest, MigInstances) {
  std::vector<Uuid> instances;
  for (int i = 0; i < ranks_; ++i) instances.push_back(device(i, true));
  expect_each_driven_once(agree(sees(instances)), instances);
  ASSERT_EQ(mine_.devices.size(), 1U);
  EXPECT_TRUE(mine_.devices[0].info.mig());
}

TEST_F(ClaimTest, RanksThatMpiPutsOnNodesOfTheirOwnStillAgree) {
  // As in containers: the communicator's shared-memory split gives singletons, boot id and name do not.
  const auto alone = comm_.split(rank_);
  EXPECT_EQ(alone.size(), 1);
  expect_each_driven_once(agree(sees(devices(ranks_))), devices(ranks_));
  EXPECT_EQ(mine_.nodes, 1);
}

TEST_F(ClaimTest, TwoNodesClaimApart) {
  // Ranks alternate between two machines, so that those of a node are not consecutive; the UUIDs of both are
  // the same, as in copied machines.
  const int node = rank_ % 2;
  const int on_node = (ranks_ + 1 - node) / 2;
  const auto all = agree(sees(devices(on_node), "node" + std::to_string(node)));
  EXPECT_EQ(mine_.node, node);
  EXPECT_EQ(mine_.nodes, std::min(ranks_, 2));
  EXPECT_EQ(static_cast<int>(all.size()), ranks_);
  ASSERT_EQ(mine_.devices.size(), 1U);
  EXPECT_EQ(mine_.devices[0].info.uuid, device(rank_ / 2));
}

TEST_F(ClaimTest, MachinesOfOneNameAreToldApartByTheirBootId) {
  Probe probe = sees({device(0)}, "localhost");
  probe.host.boot_id = "boot" + std::to_string(rank_);
  agree(probe);
  EXPECT_EQ(mine_.nodes, ranks_);
  EXPECT_EQ(mine_.node, rank_);
  EXPECT_EQ(mine_.devices.size(), 1U);
}

TEST_F(ClaimTest, ARankThatCouldNotProbeTakesPart) {
  const bool blind = rank_ == 0;
  const auto all = agree(blind ? sees({}) : sees(devices(ranks_)));
  EXPECT_EQ(devices_of(all, 0), 0);
  if (blind) {
    EXPECT_EQ(mine_.absence->reason, Absence::Reason::driver_error);
    EXPECT_EQ(mine_.absence->message, "the driver does not answer");
  } else {
    expect_each_driven_once(all, devices(ranks_));
  }
}

TEST_F(ClaimTest, AProbeThatIsAltogetherEmptyTakesPart) {
  // The probe of a rank whose probing ended with an exception.
  const auto all = agree(Probe{});
  EXPECT_TRUE(all.empty());
  EXPECT_TRUE(mine_.absence);
  EXPECT_EQ(mine_.nodes, 1) << "its machine is known all the same";
}

// Across jobs: the whole node knows the driver of a device until the claim ends.

class ClaimsOfTwoJobs : public ClaimTest {
 protected:
  /// The ranks, in two halves that each make a job; a single rank makes both of them in turn.
  const mpi::Communicator half_ = comm_.split(rank_ % 2);

  static std::vector<Uuid> uuids_of(const Claim& claim) {
    std::vector<Uuid> uuids;
    for (const auto& device : claim.devices) uuids.push_back(device.info.uuid);
    return uuids;
  }
  /// Devices that are driven concurrently, once for each driver.
  std::multiset<Uuid> all_driven(const Claim& claim) {
    const auto mine = uuids_of(claim);
    const auto all = comm_.allgatherv(std::span<const Uuid>(mine));
    return {all.begin(), all.end()};
  }
};

TEST_F(ClaimsOfTwoJobs, HalvesOfANodeNeverDriveTheSameDevice) {
  for (int round = 0; round < 20; ++round) {
    comm_.barrier();  // so that both claim at the same time
    const Claim mine = claim(half_, sees(devices(2)), false);
    const auto driven = all_driven(mine);
    EXPECT_EQ(driven.size(), 2U) << "and all are driven";
    EXPECT_EQ(std::set<Uuid>(driven.begin(), driven.end()).size(), 2U);
    EXPECT_EQ(mine.unguarded, "");
    if (mine.devices.empty()) {
      ASSERT_TRUE(mine.absence);
      const bool my_half_drives =
          half_.allreduce(static_cast<int>(mine.devices.size()), mpi::Reduction::sum) > 0;
      EXPECT_EQ(mine.absence->reason, my_half_drives ? Absence::Reason::none_left : Absence::Reason::driven);
    } else {
      (void)half_.allreduce(1, mpi::Reduction::sum);
    }
    comm_.barrier();
  }
}

TEST_F(ClaimsOfTwoJobs, ALaterOneGetsWhatIsFree) {
  std::vector<Uuid> low{device(0)};
  const Claim first = claim(comm_, sees(low), false);
  const Claim second = claim(comm_, sees(devices(2)), false);
  EXPECT_EQ(all_driven(second), (std::multiset<Uuid>{device(1)}));
  if (rank_ > 0) {
    EXPECT_EQ(second.absence->reason, Absence::Reason::none_left);
    EXPECT_NE(second.absence->message.find("and other jobs ("), std::string::npos) << second.absence->message;
  }
}

TEST_F(ClaimsOfTwoJobs, AClaimSaysWhoDrivesAll) {
  const Claim first = claim(comm_, sees(devices(2)), false);
  const Claim second = claim(comm_, sees(devices(2)), false);
  ASSERT_TRUE(second.absence);
  EXPECT_EQ(second.absence->reason, Absence::Reason::driven);
  EXPECT_TRUE(
      second.absence->message.starts_with("other jobs on node0 drive all 2 GPUs that this rank sees ("))
      << second.absence->message;
}

TEST_F(ClaimsOfTwoJobs, WhatIsLetGoIsFree) {
  for (int round = 0; round < 5; ++round) {
    const Claim mine = claim(comm_, sees(devices(2)), false);
    EXPECT_EQ(all_driven(mine).size(), 2U) << round;
  }
}

TEST_F(ClaimsOfTwoJobs, OneThatDoesNotShareKeepsOthersOffAndIsKeptOff) {
  const Claim alone = claim(comm_, sees({device(0)}), false);
  EXPECT_TRUE(claim(comm_, sees({device(0)}), true).devices.empty());
  const Claim sharing = claim(comm_, sees({device(1)}), true);
  EXPECT_TRUE(claim(comm_, sees({device(1)}), false).devices.empty());
}

TEST_F(ClaimsOfTwoJobs, SharersDivideTheMemoryAmongAllJobs) {
  std::vector<Claim> jobs;
  std::int64_t planned = 0;
  for (int job = 0; job < 4; ++job) {
    jobs.push_back(claim(comm_, sees({device(0)}), true));
    ASSERT_EQ(jobs.back().devices.size(), 1U);
    const ClaimedDevice& mine = jobs.back().devices[0];
    EXPECT_EQ(mine.sharers, (job + 1) * ranks_);
    EXPECT_EQ(mine.sharers_elsewhere, job * ranks_);
    EXPECT_EQ(mine.reserved_elsewhere_bytes, planned);
    EXPECT_EQ(mine.memory_budget_bytes(), (memory_bytes - planned) / 2 / ranks_);
    planned += comm_.allreduce(mine.memory_budget_bytes(), mpi::Reduction::sum);
  }
  EXPECT_LT(planned, memory_bytes);
}

TEST_F(ClaimsOfTwoJobs, AFreeDeviceIsTakenBeforeOneIsShared) {
  const Claim first = claim(comm_, sees({device(0)}), true);
  const Claim second = claim(comm_, sees(devices(2)), true);
  ASSERT_EQ(second.devices.size(), 1U);
  if (rank_ == 0) {
    EXPECT_EQ(second.devices[0].info.uuid, device(1));
  }
}

class SimulatedClaim : public ClaimTest {
 protected:
  void TearDown() override { unsetenv("TESSERA_SIMULATE"); }
};

TEST_F(SimulatedClaim, AllSeeTheGpusOfTheNode) {
  setenv("TESSERA_SIMULATE", "*:4xH200@node", 1);
  const auto all = agree(probe(rank_));
  std::set<Uuid> uuids;
  for (const auto& driven : all) uuids.insert(driven.uuid);
  EXPECT_EQ(all.size(), 4U);
  EXPECT_EQ(uuids.size(), 4U);
  for (int rank = 0; rank < std::min(ranks_, 4); ++rank) EXPECT_GE(devices_of(all, rank), 1);
}

TEST_F(SimulatedClaim, EachRankHasItsOwn) {
  setenv("TESSERA_SIMULATE", "rank0:2xH200; *:T4", 1);
  const auto all = agree(probe(rank_));
  EXPECT_EQ(static_cast<int>(all.size()), ranks_ + 1);
  EXPECT_EQ(devices_of(all, 0), 2);
}

}  // namespace
}  // namespace tessera

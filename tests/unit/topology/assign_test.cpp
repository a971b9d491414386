// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "topology/claim/assign.hpp"

namespace TESSERA_NAMESPACE::detail {
namespace {

Uuid device(std::uint8_t number) {
  Uuid uuid;
  uuid.bytes[0] = number;
  return uuid;
}
const Uuid A = device(1), B = device(2), C = device(3), D = device(4);

using Sightings = std::vector<Sighting>;
using Assignments = std::vector<Assignment>;

Sightings everyone_sees(int ranks, const std::vector<Uuid>& devices, int distance = 0) {
  Sightings sightings;
  for (int rank = 0; rank < ranks; ++rank)
    for (const auto& uuid : devices) sightings.push_back({rank, uuid, distance});
  return sightings;
}

void expect(const Sightings& sightings, bool sharing, const Assignments& wanted) {
  const auto found = assign_devices(sightings, sharing);
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].rank, wanted[i].rank) << i;
    EXPECT_EQ(found[i].uuid, wanted[i].uuid) << i << ": rank " << found[i].rank;
    EXPECT_EQ(found[i].sharers, wanted[i].sharers) << i << ": rank " << found[i].rank;
  }
}

TEST(AssignDevices, TheExampleOfTheHeader) {
  expect({{0, A, 2}, {0, B, 0}, {1, A, 0}, {1, B, 2}}, false, {{0, B}, {1, A}});
}

TEST(AssignDevices, NothingSeenNothingDriven) {
  expect({}, true, {});
}

TEST(AssignDevices, LowerRanksGetLowerUuidsWhereAllIsEqual) {
  expect(everyone_sees(4, {D, C, B, A}), false, {{0, A}, {1, B}, {2, C}, {3, D}});
}

TEST(AssignDevices, AsManyRanksAsPossibleComeBeforeDistance) {
  // Rank 0 would be nearer to A, but rank 1 sees nothing else.
  expect({{0, A, 0}, {0, B, 5}, {1, A, 0}}, false, {{0, B}, {1, A}});
}

TEST(AssignDevices, TheSumOfDistancesIsLeast) {
  // Greedy by rank would give 0-A (1) and 1-B (9); together 0-B and 1-A are nearer.
  expect({{0, A, 1}, {0, B, 2}, {1, A, 1}, {1, B, 9}}, false, {{0, B}, {1, A}});
}

TEST(AssignDevices, MoreDevicesThanRanksGoToTheNearestRank) {
  // Two sockets with two devices each, one rank on each socket.
  expect({{0, A, 0}, {0, B, 0}, {0, C, 1}, {0, D, 1}, {1, A, 1}, {1, B, 1}, {1, C, 0}, {1, D, 0}}, false,
         {{0, A}, {0, B}, {1, C}, {1, D}});
}

TEST(AssignDevices, LeftOverDevicesOfEqualDistanceAreSpreadEvenly) {
  expect(everyone_sees(2, {A, B, C, D}), false, {{0, A}, {0, C}, {1, B}, {1, D}});
}

TEST(AssignDevices, ARankGetsOnlyWhatItSees) {
  expect({{0, A, 0}, {0, B, 0}, {1, B, 0}, {1, C, 0}}, false, {{0, A}, {1, B}, {1, C}});
}

TEST(AssignDevices, MoreRanksThanDevicesWithoutSharing) {
  expect(everyone_sees(3, {A, B}), false, {{0, A}, {1, B}});
}

TEST(AssignDevices, MoreRanksThanDevicesWithSharing) {
  expect(everyone_sees(5, {A, B}), true, {{0, A, 3}, {1, B, 2}, {2, A, 3}, {3, B, 2}, {4, A, 3}});
}

TEST(AssignDevices, SharersPreferTheLeastSharedThenTheNearest) {
  expect({{0, A, 0}, {1, B, 0}, {2, A, 3}, {2, B, 1}, {3, A, 7}, {3, B, 0}}, true,
         {{0, A, 2}, {1, B, 2}, {2, B, 2}, {3, A, 2}});
}

TEST(AssignDevices, TheResultIsSortedByRankDistanceAndUuid) {
  expect({{0, A, 2}, {0, B, 0}, {0, C, 0}}, false, {{0, B}, {0, C}, {0, A}});
}

TEST(AssignDevices, MigInstancesAndWholeGpusAreDifferentDevices) {
  Uuid instance = A;
  instance.mig = true;
  expect(everyone_sees(2, {A, instance}), false, {{0, A}, {1, instance}});
}

TEST(AssignDevices, ASightingToldTwiceCountsOnceAtItsNearest) {
  expect({{0, A, 5}, {0, A, 1}, {0, B, 2}, {1, A, 2}, {1, B, 2}}, false, {{0, A}, {1, B}});
}

TEST(AssignDevices, HundredsOfRanksAndDevices) {
  constexpr int ranks = 192;
  Sightings sightings;
  for (int rank = 0; rank < ranks; ++rank)
    for (int d = 0; d < 64; ++d)
      sightings.push_back({rank, device(static_cast<std::uint8_t>(d)), (rank + d) % 3});
  const auto found = assign_devices(sightings, true);
  EXPECT_EQ(found.size(), 192U);
  for (const auto& assignment : found) EXPECT_EQ(assignment.sharers, 3);
}

/// Tries every matching, literally by the definition in the header.
class Reference {
 public:
  explicit Reference(const Sightings& sightings) {
    std::set<int> ranks;
    std::set<Uuid> uuids;
    for (const auto& s : sightings) {
      ranks.insert(s.rank);
      uuids.insert(s.uuid);
      distance_[{s.rank, s.uuid}] = s.distance;
    }
    ranks_.assign(ranks.begin(), ranks.end());
    uuids_.assign(uuids.begin(), uuids.end());
  }

  Assignments assign(bool sharing) {
    std::vector<std::size_t> chosen;
    try_rank(chosen, 0, 0);
    std::vector<std::tuple<int, int, Uuid>> drives;
    std::map<int, int> held;
    std::map<Uuid, int> sharers;
    const auto drive = [&](int rank, const Uuid& uuid) {
      drives.emplace_back(rank, distance_.at({rank, uuid}), uuid);
      ++held[rank];
      ++sharers[uuid];
    };
    for (std::size_t r = 0; r < ranks_.size(); ++r)
      if (best_[r] < uuids_.size()) drive(ranks_[r], uuids_[best_[r]]);
    for (const auto& uuid : uuids_) {
      if (sharers[uuid] > 0) continue;
      std::vector<std::tuple<int, int, int>> offers;
      for (const int rank : ranks_)
        if (distance_.contains({rank, uuid}))
          offers.emplace_back(distance_.at({rank, uuid}), held[rank], rank);
      drive(std::get<2>(*std::min_element(offers.begin(), offers.end())), uuid);
    }
    for (const int rank : ranks_) {
      if (!sharing || held[rank] > 0) continue;
      std::vector<std::tuple<int, int, Uuid>> offers;
      for (const auto& uuid : uuids_)
        if (distance_.contains({rank, uuid}))
          offers.emplace_back(sharers[uuid], distance_.at({rank, uuid}), uuid);
      drive(rank, std::get<2>(*std::min_element(offers.begin(), offers.end())));
    }
    std::sort(drives.begin(), drives.end());
    Assignments out;
    for (const auto& [rank, distance, uuid] : drives) out.push_back({rank, uuid, sharers[uuid]});
    return out;
  }

 private:
  void try_rank(std::vector<std::size_t>& chosen, int unmatched, int total) {
    if (chosen.size() == ranks_.size()) {
      const std::tuple key(unmatched, total, chosen);
      if (!key_ || key < *key_) {
        key_ = key;
        best_ = chosen;
      }
      return;
    }
    const int rank = ranks_[chosen.size()];
    for (std::size_t d = 0; d <= uuids_.size(); ++d) {
      const bool none = d == uuids_.size();
      if (!none && (!distance_.contains({rank, uuids_[d]}) ||
                    std::find(chosen.begin(), chosen.end(), d) != chosen.end()))
        continue;
      const int far = none ? 0 : distance_.at({rank, uuids_[d]});
      chosen.push_back(d);
      try_rank(chosen, unmatched + (none ? 1 : 0), total + far);
      chosen.pop_back();
    }
  }

  std::vector<int> ranks_;
  std::vector<Uuid> uuids_;
  std::map<std::pair<int, Uuid>, int> distance_;
  std::optional<std::tuple<int, int, std::vector<std::size_t>>> key_;
  std::vector<std::size_t> best_;
};

TEST(AssignDevices, AgreesWithTheDefinitionOnSmallCases) {
  constexpr unsigned seed = 20260713;
  std::mt19937 random(seed);
  const auto draw = [&](int least, int most) { return std::uniform_int_distribution(least, most)(random); };
  for (int trial = 0; trial < 3000; ++trial) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", trial " + std::to_string(trial));
    const int ranks = draw(1, 5), devices = draw(1, 5), farthest = draw(0, 3), seen_of_ten = draw(3, 10);
    Sightings sightings;
    for (int rank = 0; rank < ranks; ++rank)
      for (int d = 0; d < devices; ++d)
        if (draw(1, 10) <= seen_of_ten)
          sightings.push_back({rank * 3, device(static_cast<std::uint8_t>(d)), draw(0, farthest)});
    const bool sharing = draw(0, 1) == 1;
    const auto wanted = Reference(sightings).assign(sharing);
    ASSERT_EQ(assign_devices(sightings, sharing), wanted);
    std::shuffle(sightings.begin(), sightings.end(), random);
    ASSERT_EQ(assign_devices(sightings, sharing), wanted) << "the order of the input mattered";
  }
}

TEST(AssignDevices, WhatAnotherJobDrivesIsOnlyShared) {
  const Sightings sightings{{0, A, 0, 2}, {0, B, 5}, {1, A, 0, 2}, {1, B, 5}};
  expect(sightings, false, {{0, B, 1}});
  expect(sightings, true, {{0, B, 2}, {1, B, 2}});
  expect({{0, A, 0, 1}, {1, A, 0, 1}}, true, {{0, A, 3}, {1, A, 3}});
  expect({{0, A, 0, 1}, {1, A, 0, 1}}, false, {});
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::detail

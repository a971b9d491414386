// SPDX-License-Identifier: Apache-2.0
#include "topology/hwloc/share_cores.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace TESSERA_NAMESPACE::detail {
namespace {

constexpr CgroupId job{1, 10};
constexpr CgroupId first_task{1, 11};
constexpr CgroupId second_task{1, 12};

CpuQuota quota(double cores, CgroupId group) {
  return {cores, group, "cpu.max"};
}

std::vector<int> fair(const std::vector<RankCores>& ranks) {
  std::vector<int> threads;
  for (const CoreShare& share : share_cores(ranks)) threads.push_back(share.fair);
  return threads;
}

TEST(ShareCores, ARankAloneHasAll) {
  const auto shares = share_cores(std::vector<RankCores>{{0, "0-7", 8, {}}});
  EXPECT_EQ(shares[0].usable, 8);
  EXPECT_EQ(shares[0].fair, 8);
  EXPECT_EQ(shares[0].from, "its 8 hardware threads");
}

TEST(ShareCores, SharedCoresAreDivided) {
  EXPECT_EQ(fair({{0, "0-4", 5, {}}, {0, "0-4", 5, {}}}), (std::vector{3, 2}));
  EXPECT_EQ(share_cores(std::vector<RankCores>{{0, "0-4", 5, {}}, {0, "0-4", 5, {}}})[1].from,
            "its 5 hardware threads, shared by 2 ranks");
  // Ranks on other nodes, or with other cores, share nothing.
  EXPECT_EQ(fair({{0, "0-4", 5, {}}, {1, "0-4", 5, {}}}), (std::vector{5, 5}));
  EXPECT_EQ(fair({{0, "0-1", 2, {}}, {0, "2-4", 3, {}}}), (std::vector{2, 3}));
  EXPECT_EQ(fair({{0, "0", 1, {}}, {0, "0", 1, {}}, {0, "0", 1, {}}}), (std::vector{1, 1, 1}));
}

TEST(ShareCores, AQuotaIsDividedAmongThoseBelowIt) {
  const std::vector<RankCores> ranks{{0, "0-15", 16, {quota(5, job)}}, {0, "0-15", 16, {quota(5, job)}}};
  const auto shares = share_cores(ranks);
  EXPECT_EQ(shares[0].fair, 3);
  EXPECT_EQ(shares[1].fair, 2);
  EXPECT_EQ(shares[1].usable, 5);
  EXPECT_EQ(shares[1].from, "a cgroup's quota of 5 cores, shared by 2 ranks");
  // The same number on another node is another cgroup.
  EXPECT_EQ(fair({{0, "0-15", 16, {quota(5, job)}}, {1, "0-15", 16, {quota(5, job)}}}), (std::vector{5, 5}));
}

TEST(ShareCores, TheTightestOfSeveralQuotasCounts) {
  // Each task may use 3 cores, and both together 4.
  const std::vector<RankCores> ranks{{0, "0-7", 8, {quota(3, first_task), quota(4, job)}},
                                     {0, "8-15", 8, {quota(3, second_task), quota(4, job)}}};
  EXPECT_EQ(fair(ranks), (std::vector{2, 2}));
  EXPECT_EQ(share_cores(ranks)[0].usable, 3);
  // If the task runs by itself, its own quota is the tighter one.
  const auto alone = share_cores(std::vector{ranks[0]});
  EXPECT_EQ(alone[0].fair, 3);
  EXPECT_EQ(alone[0].from, "a cgroup's quota of 3 cores");
}

TEST(ShareCores, AtLeastOneThread) {
  const auto shares = share_cores(std::vector<RankCores>{{0, "", 0, {}}, {1, "0-3", 4, {quota(0.5, job)}}});
  EXPECT_EQ(shares[0].usable, 1);
  EXPECT_EQ(shares[0].fair, 1);
  EXPECT_EQ(shares[1].fair, 1);
  EXPECT_EQ(shares[1].from, "a cgroup's quota of 0.5 cores");
  EXPECT_EQ(fair({{0, "0-3", 4, {quota(1.5, job)}}, {0, "0-3", 4, {quota(1.5, job)}}}), (std::vector{1, 1}));
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::detail

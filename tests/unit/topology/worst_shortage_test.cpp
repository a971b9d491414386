// SPDX-License-Identifier: Apache-2.0
#include "topology/worst_shortage.hpp"

#include <gtest/gtest.h>
#include <tessera/topology/memory_shortage.hpp>

#include <cstdint>
#include <limits>
#include <vector>

namespace TESSERA_NAMESPACE::detail {
namespace {

using Scope = MemoryLimit::Scope;
constexpr CgroupId whole_job{1, 10};
constexpr CgroupId task{1, 11};

MemoryLimit cgroup(CgroupId group, std::int64_t limit, std::int64_t free) {
  return {Scope::cgroup, group, limit, free, {}};
}
MemoryLimit node(std::int64_t limit, std::int64_t free) {
  return {Scope::node, {}, limit, free, {}};
}
MemoryLimit process(std::int64_t limit, std::int64_t free) {
  return {Scope::process, {}, limit, free, {}};
}

std::optional<Shortage> worst(const std::vector<MemoryNeed>& ranks) {
  return worst_shortage(ranks);
}

TEST(WorstShortage, NoneWhereThereIsEnough) {
  EXPECT_FALSE(worst({}));
  EXPECT_FALSE(worst({{0, 100, {}}}));
  EXPECT_FALSE(worst({{0, 100, {cgroup(whole_job, 150, 100), node(1000, 100)}}}));
  // If nothing is left, nothing is needed.
  EXPECT_FALSE(worst({{0, 0, {node(1000, 0)}}}));
}

TEST(WorstShortage, RanksBelowOneLimitNeedItTogether) {
  const std::vector<MemoryNeed> ranks{{0, 60, {cgroup(whole_job, 150, 99)}},
                                      {0, 40, {cgroup(whole_job, 150, 98)}}};
  const auto found = worst(ranks);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->rank, 0);
  EXPECT_EQ(found->ranks, 2);
  EXPECT_EQ(found->needed_bytes, 100);
  EXPECT_EQ(found->free_bytes, 99);
  // Memory that one of them sees as free is free.
  EXPECT_FALSE(worst({{0, 60, {cgroup(whole_job, 150, 100)}}, {0, 40, {cgroup(whole_job, 150, 98)}}}));
}

TEST(WorstShortage, WhatIsNotSharedIsNotAddedUp) {
  // Other nodes, other cgroups, separate processes.
  EXPECT_FALSE(worst({{0, 60, {cgroup(whole_job, 150, 99), node(200, 99)}},
                      {1, 40, {cgroup(whole_job, 150, 99), node(200, 99)}}}));
  EXPECT_FALSE(worst({{0, 60, {cgroup(whole_job, 150, 99)}}, {0, 40, {cgroup(task, 150, 99)}}}));
  EXPECT_FALSE(worst({{0, 60, {process(150, 99)}}, {0, 40, {process(150, 99)}}}));
  const auto found = worst({{0, 60, {process(150, 99)}}, {0, 100, {process(150, 99)}}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->rank, 1);
  EXPECT_EQ(found->ranks, 1);
}

TEST(WorstShortage, OfSeveralTheOneThatLacksMost) {
  const std::vector<MemoryNeed> ranks{
      {0, 60, {process(70, 59), cgroup(task, 100, 90), cgroup(whole_job, 200, 100)}},
      {0, 60, {process(70, 61), cgroup(whole_job, 200, 100)}}};
  const auto found = worst(ranks);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->limit, 2U);
  EXPECT_EQ(found->needed_bytes, 120);
  // Two limits of one cgroup are distinguished.
  const auto high = worst({{0, 60, {cgroup(whole_job, 200, 100), cgroup(whole_job, 150, 50)}}});
  ASSERT_TRUE(high);
  EXPECT_EQ(high->limit, 1U);
}

TEST(WorstShortage, SumsDoNotOverflow) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  const auto found = worst({{0, most, {node(1, 1)}}, {0, most, {node(1, 1)}}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->needed_bytes, most);
}

TEST(ShareOf, IsAllWhereThereIsEnough) {
  EXPECT_EQ(share_of(std::vector<MemoryNeed>{{0, 100, {}}}, 0), 100);
  const std::vector<MemoryNeed> ranks{{0, 60, {node(200, 100)}}, {0, 40, {node(200, 100)}}};
  EXPECT_EQ(share_of(ranks, 0), 60);
  EXPECT_EQ(share_of(ranks, 1), 40);
}

TEST(ShareOf, IsProportionateUnderTheTightestLimit) {
  const std::vector<MemoryNeed> ranks{{0, 300, {process(400, 120), cgroup(whole_job, 300, 200)}},
                                      {0, 100, {process(400, 120), cgroup(whole_job, 300, 200)}},
                                      {1, 100, {cgroup(whole_job, 300, 200)}}};
  EXPECT_EQ(share_of(ranks, 0), 120);
  EXPECT_EQ(share_of(ranks, 1), 50);
  EXPECT_EQ(share_of(ranks, 2), 100);
  EXPECT_EQ(share_of(std::vector<MemoryNeed>{{0, 100, {node(1000, 0)}}}, 0), 0);
}

TEST(MemoryShortage, IsASentenceWithAWayOut) {
  constexpr std::int64_t gib = 1 << 30;
  MemoryShortage shortage{4, 4, "node01", 12 * gib, cgroup(whole_job, 10 * gib, 15 * gib / 2)};
  shortage.limit.source = "/sys/fs/cgroup/job/memory.max";
  EXPECT_EQ(
      to_string(shortage),
      "need 12 GiB on node01 (4 ranks), where 7.5 of 10 GiB are left by /sys/fs/cgroup/job/memory.max: use "
      "more nodes, or ask for more memory (Slurm: --mem)");
  shortage = {4, 1, "node01", gib / 10, process(gib / 16, 0)};
  shortage.limit.source = "ulimit -v";
  EXPECT_EQ(to_string(shortage),
            "need 0.1 GiB on node01 (rank 4), where 0 of 0.0625 GiB are left by ulimit -v: use more ranks, "
            "or raise this limit");
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::detail

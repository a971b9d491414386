// SPDX-License-Identifier: Apache-2.0
#include "fake_device.hpp"
#include "support/errors.hpp"

#include <tessera/error.hpp>
#include <tessera/memory/workspace_pool.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace tessera::testing {
namespace {

/// Holds `count` workspaces at once and returns them.
void cycle(WorkspacePool& pool, std::size_t count, std::size_t bytes, StreamView stream) {
  std::vector<MemoryLease> held;
  for (std::size_t i = 0; i < count; ++i) held.push_back(pool.take(bytes, stream));
}

TEST(WorkspacePool, ClassesArePowersOfTwoFromOneKiB) {
  FakeDevice device(1);
  WorkspacePool pool(std::make_unique<FakeUpstream>(device));
  (void)pool.take(1, device.stream(0));
  EXPECT_EQ(pool.statistics().cached_bytes, 1 * kib);
  (void)pool.take(kib, device.stream(0));
  EXPECT_EQ(pool.statistics().cached_blocks, 1u);
  const MemoryLease odd = pool.take(33 * kib, device.stream(0));
  EXPECT_EQ(odd.size_bytes(), 33 * kib);
  EXPECT_EQ(device.taken_bytes(), 65 * kib);
  EXPECT_FALSE(pool.take(0, device.stream(0)));
}

TEST(WorkspacePool, KeepsFourOfAClass) {
  FakeDevice device(2);
  WorkspacePool pool(std::make_unique<FakeUpstream>(device));
  cycle(pool, 7, 4 * kib, device.stream(0));
  EXPECT_EQ(pool.statistics().cached_blocks, 4u);
  cycle(pool, 7, 8 * kib, device.stream(1));
  EXPECT_EQ(pool.statistics().cached_blocks, 8u);
  EXPECT_EQ(pool.statistics().cached_bytes, 4 * 12 * kib);
  EXPECT_EQ(pool.statistics().freed, 6u);
  // Four per class in total, not per stream.
  {
    std::array held{pool.take(4 * kib, device.stream(1)), pool.take(4 * kib, device.stream(0))};
    cycle(pool, 4, 4 * kib, device.stream(0));
  }
  EXPECT_EQ(pool.statistics().cached_blocks, 8u);
}

TEST(WorkspacePool, HowManyIsSettableButNotBelowOne) {
  FakeDevice device(1);
  WorkspacePool pool(std::make_unique<FakeUpstream>(device), {.slabs_per_class = 6});
  cycle(pool, 7, 4 * kib, device.stream(0));
  cycle(pool, 7, kib, device.stream(0));
  EXPECT_EQ(pool.statistics().cached_blocks, 12u);
  EXPECT_THROW(WorkspacePool(make_host_upstream(kib), {.slabs_per_class = 0}), Error);
}

TEST(WorkspacePool, TheHighWaterMarkEvictsTheLongestUnused) {
  FakeDevice device(1);
  const StreamView stream = device.stream(0);
  WorkspacePool pool(std::make_unique<FakeUpstream>(device), {.high_water_bytes = 10 * kib});
  (void)pool.take(4 * kib, stream);
  (void)pool.take(2 * kib, stream);
  (void)pool.take(4 * kib, stream);
  EXPECT_EQ(pool.statistics().hits, 1u);
  (void)pool.take(5 * kib, stream);  // 8 KiB: the 2 KiB go first, and the 4 KiB too
  EXPECT_EQ(pool.statistics().cached_bytes, 8 * kib);
  (void)pool.take(2 * kib, stream);
  EXPECT_EQ(pool.statistics().cached_blocks, 2u);
  (void)pool.take(16 * kib, stream);
  EXPECT_EQ(pool.statistics().cached_blocks, 0u) << "one that is too large by itself is not kept";
}

TEST(WorkspacePool, IsEmptiedAndForgetsStreams) {
  FakeDevice device(2);
  {
    WorkspacePool pool(std::make_unique<FakeUpstream>(device));
    cycle(pool, 2, kib, device.stream(0));
    cycle(pool, 3, 2 * kib, device.stream(1));
    pool.release_stream(device.stream(0));
    EXPECT_EQ(pool.statistics().cached_blocks, 3u);
    pool.empty_cache();
    EXPECT_EQ(device.blocks(), 0u);
    pool.reset_statistics();
    EXPECT_EQ(pool.statistics(), PoolStatistics{});
    EXPECT_THROW((void)pool.take(kib, {}), Error);
  }
  EXPECT_EQ(device.races, 0u);
  EXPECT_EQ(device.events, 0u);
}

TEST(WorkspacePool, SaysWhoRanOut) {
  FakeDevice device(1, 64 * kib);
  WorkspacePool pool(std::make_unique<FakeUpstream>(device));
  const std::string said =
      error_of(ErrorCode::job_fault, [&] { (void)pool.take(65 * kib, device.stream(0)); });
  EXPECT_EQ(said.find("workspace pool: 66560 bytes"), 0u) << said;
}

/// Compared with a slow, obviously correct pool: one list, oldest first.
class WorkspacesAgainstTheReference : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(WorkspacesAgainstTheReference, RandomUseIsCountedAndOrdered) {
  struct Slab {
    void* memory;
    std::size_t bytes;
  };
  std::mt19937_64 random(GetParam());
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  WorkspacePoolOptions options{.slabs_per_class = 1 + below(5), .high_water_bytes = 1000 * kib};
  SCOPED_TRACE(::testing::Message() << "seed " << GetParam());
  FakeDevice device(3);
  std::vector<Slab> pooled;
  PoolStatistics expected;
  const auto free = [&](std::vector<Slab>::iterator at) {
    expected.cached_bytes -= at->bytes;
    --expected.cached_blocks;
    ++expected.freed;
    pooled.erase(at);
  };
  {
    WorkspacePool pool(std::make_unique<FakeUpstream>(device), options);
    std::vector<MemoryLease> held;
    for (int step = 0; step < 20'000; ++step) {
      if (below(2) == 0 && held.size() < 20) {
        const std::size_t bytes = 1 + below(kib << below(9));
        const std::size_t rounded = std::max(kib, std::bit_ceil(bytes));
        held.push_back(pool.take(bytes, device.stream(below(3))));
        device.use(held.back().data(), held.back().stream());
        const auto at = std::ranges::find(pooled, held.back().data(), &Slab::memory);
        if (std::ranges::count(pooled, rounded, &Slab::bytes) == 0) {
          ++expected.misses;
        } else {
          ASSERT_NE(at, pooled.end()) << "step " << step;
          ASSERT_EQ(at->bytes, rounded) << "step " << step;
          ++expected.hits;
          expected.cached_bytes -= rounded;
          --expected.cached_blocks;
          pooled.erase(at);
        }
        expected.in_use_bytes += rounded;
        expected.high_water_bytes = std::max(expected.high_water_bytes, expected.in_use_bytes);
        expected.reserved_high_water_bytes =
            std::max(expected.reserved_high_water_bytes, expected.reserved_bytes());
      } else if (!held.empty()) {
        std::swap(held[below(held.size())], held.back());
        const std::size_t rounded = std::max(kib, std::bit_ceil(held.back().size_bytes()));
        pooled.push_back({held.back().data(), rounded});
        held.pop_back();
        ++expected.returns;
        expected.in_use_bytes -= rounded;
        expected.cached_bytes += rounded;
        ++expected.cached_blocks;
        if (std::ranges::count(pooled, rounded, &Slab::bytes) >
            static_cast<std::ptrdiff_t>(options.slabs_per_class))
          free(pooled.end() - 1);
        while (expected.cached_bytes > options.high_water_bytes) free(pooled.begin());
      }
      if (below(20) == 0) device.finish(device.stream(below(3)));
      expected.waits = pool.statistics().waits;  // depends on what was complete when
      ASSERT_EQ(pool.statistics(), expected) << "step " << step;
      ASSERT_EQ(device.taken_bytes(), expected.reserved_bytes()) << "step " << step;
      ASSERT_EQ(device.races, 0u) << "step " << step;
    }
    EXPECT_GT(expected.hits, 1000u);
    EXPECT_GT(expected.waits, 100u);
  }
  EXPECT_EQ(device.races, 0u);
  EXPECT_EQ(device.blocks(), 0u);
  EXPECT_EQ(device.host_waits, 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, WorkspacesAgainstTheReference, ::testing::Values(1, 2, 3, 4),
                         [](const auto& seed) { return "Seed" + std::to_string(seed.param); });

}  // namespace
}  // namespace tessera::testing

// SPDX-License-Identifier: Apache-2.0
#include "fake_device.hpp"
#include "support/errors.hpp"

#include <tessera/error.hpp>
#include <tessera/memory/arena.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <random>

namespace tessera::testing {
namespace {

std::uintptr_t address(const void* memory) {
  return reinterpret_cast<std::uintptr_t>(memory);
}

class OnTheHost : public ::testing::Test {
 protected:
  BufferPool pool{make_host_upstream(64 * mib)};
  Arena arena{pool, {}};
};

TEST_F(OnTheHost, HandsOutWhatFollows) {
  EXPECT_EQ(arena.capacity_bytes(), 0u);
  auto* first = arena.take<char>(1);
  auto* second = arena.take<double>(100);
  auto* third = arena.take<char>(300);
  EXPECT_EQ(address(first) % 256, 0u);
  EXPECT_EQ(address(second), address(first) + 256);
  EXPECT_EQ(address(third), address(second) + 1024);
  EXPECT_EQ(arena.used_bytes(), 256u + 1024 + 300);
  EXPECT_EQ(arena.capacity_bytes(), mib);
  EXPECT_EQ(pool.statistics().misses, 1u);
  EXPECT_EQ(arena.take<double>(0), nullptr);
}

TEST_F(OnTheHost, KeepsAnyPowerOfTwoAsAlignment) {
  for (std::size_t alignment = 1; alignment <= mib; alignment *= 2) {
    (void)arena.take_bytes(1, 1);
    EXPECT_EQ(address(arena.take_bytes(10, alignment)) % alignment, 0u);
  }
  const std::uintptr_t last = address(arena.take_bytes(1, 1));
  EXPECT_EQ(address(arena.take_bytes(1, 1)), last + 1);
  for (std::size_t alignment : {0, 3, 257}) {
    error_of(
        ErrorCode::usage, [&] { (void)arena.take_bytes(1, alignment); }, std::to_string(alignment));
  }
}

TEST_F(OnTheHost, IsTheSameMemoryAfterAReset) {
  void* first = arena.take_bytes(1000);
  (void)arena.take_bytes(mib / 2);
  arena.reset();
  EXPECT_EQ(arena.used_bytes(), 0u);
  EXPECT_EQ(arena.take_bytes(500), first);
  EXPECT_EQ(pool.statistics().misses, 1u);
}

TEST_F(OnTheHost, GrowsAndIsOneSlabAfterAReset) {
  const auto tile = [&] {
    for (int i = 0; i < 50; ++i) (void)arena.take_bytes(100'000);
  };
  tile();
  EXPECT_GT(arena.slabs(), 1u);
  EXPECT_LE(arena.slabs(), 4u) << "they double";
  arena.reset();
  EXPECT_EQ(arena.slabs(), 0u);
  EXPECT_EQ(pool.statistics().in_use_bytes, 0u);
  for (int i = 0; i < 3; ++i) {
    tile();
    EXPECT_EQ(arena.slabs(), 1u);
    arena.reset();
  }
}

TEST_F(OnTheHost, WhatWasTakenOutlivesAFailure) {
  char* first = arena.take<char>(100);
  first[99] = 'x';
  EXPECT_THROW((void)arena.take_bytes(100 * mib), Error);
  EXPECT_THROW((void)arena.take<double>(~std::size_t{0} / 8), Error);
  EXPECT_THROW((void)arena.take_bytes(~std::size_t{0}, 4096), Error);
  EXPECT_EQ(first[99], 'x');
  EXPECT_EQ(arena.slabs(), 1u);
  EXPECT_EQ(address(arena.take<char>(1)), address(first) + 256);
}

TEST(Arena, LeasesLittleThatNobodyAskedFor) {
  FakeDevice device(1);
  BufferPool pool(std::make_unique<FakeUpstream>(device));
  Arena arena(pool, device.stream(0));
  (void)arena.take_bytes(6144 * mib);
  (void)arena.take_bytes(1024);
  EXPECT_EQ(device.taken_bytes(), (6144 + 64) * mib);
}

TEST(Arena, TakesWhatIsNeededWhereThereIsNoMore) {
  FakeDevice device(1, 10 * mib);
  BufferPool pool(std::make_unique<FakeUpstream>(device));
  Arena arena(pool, device.stream(0));
  (void)arena.take_bytes(6 * mib);
  (void)arena.take_bytes(3 * mib);
  EXPECT_EQ(arena.capacity_bytes(), 9 * mib);
  EXPECT_THROW((void)arena.take_bytes(2 * mib), Error);
  arena.reset();
  // One slab in place of the two cannot be allocated any more.
  const MemoryLease others = pool.take_bytes(5 * mib, device.stream(0));
  (void)arena.take_bytes(4 * mib);
  EXPECT_EQ(arena.capacity_bytes(), 4 * mib);
}

/// Random tiles: nothing overlaps, everything is inside a slab, and a repeated tile takes one slab.
TEST_F(OnTheHost, RandomTilesDoNotOverlap) {
  constexpr std::uint64_t seed = 11;
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int tile = 0; tile < 200; ++tile) {
    const std::uint64_t tile_seed = random();
    for (int repeat = 0; repeat < 2; ++repeat) {
      std::mt19937_64 sizes(tile_seed);
      std::map<std::uintptr_t, std::size_t> taken;
      for (int i = 0; i < 30; ++i) {
        const std::size_t bytes = 1 + sizes() % (std::size_t{1} << (4 + sizes() % 15));
        const std::size_t alignment = std::size_t{1} << (sizes() % 9);
        const std::uintptr_t at = address(arena.take_bytes(bytes, alignment));
        ASSERT_EQ(at % alignment, 0u);
        const auto next = taken.lower_bound(at);
        ASSERT_TRUE(next == taken.end() || at + bytes <= next->first);
        ASSERT_TRUE(next == taken.begin() || std::prev(next)->first + std::prev(next)->second <= at);
        taken.emplace(at, bytes);
      }
      ASSERT_LE(arena.slabs(), repeat == 1 ? 1u : 30u) << "tile " << tile;
      arena.reset();
    }
  }
}

TEST(Arena, ReturnsItsSlabsToTheStreamTheyAreOf) {
  FakeDevice device(2);
  {
    BufferPool pool(std::make_unique<FakeUpstream>(device));
    {
      Arena arena(pool, device.stream(0), 4096);
      device.use(arena.take_bytes(4096), device.stream(0));
    }
    EXPECT_EQ(pool.statistics().in_use_bytes, 0u);
    device.use(pool.take_bytes(4096, device.stream(1)).data(), device.stream(1));
    EXPECT_EQ(pool.statistics().waits, 1u);
  }
  EXPECT_EQ(device.races, 0u);
}

}  // namespace
}  // namespace tessera::testing

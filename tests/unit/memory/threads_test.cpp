// SPDX-License-Identifier: Apache-2.0
// With several threads, no thread sees or changes memory that another one holds. ThreadSanitizer decides.
#include <tessera/memory/buffer_pool.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <thread>
#include <vector>

namespace tessera {
namespace {

constexpr std::size_t threads = 8;
constexpr std::size_t capacity_bytes = std::size_t{1} << 30;

StreamView stream_of(std::size_t thread) {
  static std::byte streams[threads];
  return StreamView(&streams[thread]);
}

/// Holds a few buffers at a time, each filled with a unique value.
std::size_t work(BufferPool& pool, std::size_t thread, int steps) {
  std::mt19937_64 random(thread + 1);
  std::vector<Buffer<std::uint64_t>> held;
  std::size_t wrong = 0;
  const auto value = [&](const Buffer<std::uint64_t>& buffer) { return thread << 32 | buffer.size(); };
  for (int step = 0; step < steps; ++step) {
    if (held.size() < 4) {
      held.push_back(pool.take<std::uint64_t>(100 + 100 * (random() % 5), stream_of(thread)));
      std::ranges::fill(std::span(held.back().data(), held.back().size()), value(held.back()));
    } else {
      std::swap(held[random() % held.size()], held.back());
      const std::span<const std::uint64_t> all(held.back().data(), held.back().size());
      wrong += std::ranges::count(all, value(held.back())) != static_cast<std::ptrdiff_t>(all.size());
      held.pop_back();
    }
  }
  return wrong;
}

TEST(Threads, ShareOnePool) {
  BufferPool pool(make_host_upstream(capacity_bytes));
  std::atomic<std::size_t> wrong = 0;
  {
    std::vector<std::jthread> all;
    for (std::size_t i = 0; i < threads; ++i) all.emplace_back([&, i] { wrong += work(pool, i, 5000); });
    for (int i = 0; i < 50; ++i) {
      pool.empty_cache();
      (void)pool.statistics();
      std::this_thread::yield();
    }
  }
  EXPECT_EQ(wrong, 0u);
  const PoolStatistics stats = pool.statistics();
  EXPECT_EQ(stats.in_use_bytes, 0u);
  EXPECT_EQ(stats.hits + stats.misses, stats.returns);
  EXPECT_EQ(stats.misses, stats.freed + stats.cached_blocks);
}

TEST(Threads, WithAPoolEachAreCountedApart) {
  std::vector<BufferPool> pools;
  for (std::size_t i = 0; i < threads; ++i) pools.emplace_back(make_host_upstream(capacity_bytes));
  {
    std::vector<std::jthread> all;
    for (std::size_t i = 0; i < threads; ++i)
      all.emplace_back([&, i] { EXPECT_EQ(work(pools[i], i, 2000 + 4 * static_cast<int>(i)), 0u); });
  }
  for (const BufferPool& pool : pools) {
    const PoolStatistics stats = pool.statistics();
    EXPECT_EQ(stats.hits + stats.misses, stats.returns);
    EXPECT_EQ(stats.waits, 0u);
  }
  pools[3].empty_cache();
  EXPECT_EQ(pools[3].statistics().cached_bytes, 0u);
  EXPECT_GT(pools[4].statistics().cached_bytes, 0u);
}

TEST(Threads, MayReturnWhatAnotherTook) {
  BufferPool pool(make_host_upstream(capacity_bytes));
  for (int i = 0; i < 200; ++i) {
    Buffer<int> buffer = pool.take<int>(1000, stream_of(0));
    std::jthread([&pool, moved = std::move(buffer)]() mutable {
      (void)pool.take<int>(1000, stream_of(1));
      moved.reset();
    });
  }
  EXPECT_EQ(pool.statistics().in_use_bytes, 0u);
}

TEST(Threads, LastLeaseEndsAPoolThatIsGone) {
  for (int i = 0; i < 200; ++i) {
    auto pool = std::make_unique<BufferPool>(make_host_upstream(capacity_bytes));
    std::vector<std::jthread> all;
    for (std::size_t thread = 0; thread < 3; ++thread)
      all.emplace_back([lease = pool->take<char>(100, stream_of(thread))]() mutable { lease.reset(); });
    pool.reset();
  }
}

}  // namespace
}  // namespace tessera

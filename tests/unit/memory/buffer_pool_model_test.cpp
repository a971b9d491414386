// SPDX-License-Identifier: Apache-2.0
// Random use of the buffer pool agrees with a slow, obviously correct pool; and a trace that fills a large
// GPU stays within the limits.
#include "fake_device.hpp"

#include <tessera/memory/buffer_pool.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace tessera::testing {
namespace {

/// A buffer pool as documented: one list, searched from end to end.
class ReferencePool {
 public:
  struct Cached {
    void* memory;
    std::size_t bytes;
    StreamView stream;
    bool others;  ///< other streams used it too
  };

  explicit ReferencePool(BufferPoolOptions options) : options_(options) {}

  static std::size_t rounded(std::size_t bytes) {
    if (bytes <= 4096) return (bytes + 511) / 512 * 512;
    std::size_t power = 4096;  // power < bytes <= 2 power
    while (2 * power < bytes) power *= 2;
    const std::size_t step = power >= (1u << 20) ? power / 16 : power / 8;
    return (bytes + step - 1) / step * step;
  }

  /// The pool returned `memory`. Whether it was allowed to.
  ::testing::AssertionResult taken(void* memory, std::size_t requested, StreamView stream) {
    const std::size_t bytes = rounded(requested);
    const auto fits = [&](const Cached& block) { return block.bytes == bytes; };
    if (std::ranges::none_of(cached, fits)) {
      ++expected.misses;
      expected.in_use_bytes += bytes;
      mark_ = std::max(mark_, expected.in_use_bytes);
      const double slack = std::max(static_cast<double>(mark_) * (1.0 + options_.slack),
                                    static_cast<double>(options_.floor_bytes));
      const double most = std::min(slack, static_cast<double>(options_.limit_bytes));
      while (static_cast<double>(expected.reserved_bytes()) > most) free(cached.begin());
    } else {
      ++expected.hits;
      const auto at = std::ranges::find(cached, memory, &Cached::memory);
      if (at == cached.end() || !fits(*at))
        return ::testing::AssertionFailure() << "a cached block was passed over";
      const auto at_once = [&](const Cached& block) {
        return fits(block) && block.stream == stream && !block.others;
      };
      const auto newest = std::find_if(cached.rbegin(), cached.rend(), at_once);
      if (newest != cached.rend() && newest->memory != memory)
        return ::testing::AssertionFailure() << "the stream's own newest block was passed over";
      cached.erase(at);
      expected.in_use_bytes += bytes;
      expected.cached_bytes -= bytes;
      --expected.cached_blocks;
      mark_ = std::max(mark_, expected.in_use_bytes);
    }
    expected.high_water_bytes = std::max(expected.high_water_bytes, expected.in_use_bytes);
    expected.reserved_high_water_bytes =
        std::max(expected.reserved_high_water_bytes, expected.reserved_bytes());
    return ::testing::AssertionSuccess();
  }
  void returned(void* memory, std::size_t requested, StreamView stream, bool others) {
    ++expected.returns;
    ++expected.cached_blocks;
    expected.in_use_bytes -= rounded(requested);
    expected.cached_bytes += rounded(requested);
    cached.push_back({memory, rounded(requested), stream, others});
  }
  void released(StreamView stream) {
    for (auto at = cached.begin(); at != cached.end();) at = at->stream == stream ? free(at) : std::next(at);
  }
  void emptied() {
    while (!cached.empty()) free(cached.begin());
    mark_ = expected.in_use_bytes;
  }

  PoolStatistics expected;
  std::vector<Cached> cached;  ///< oldest first
  std::vector<void*> freed;

 private:
  std::vector<Cached>::iterator free(std::vector<Cached>::iterator at) {
    ++expected.freed;
    --expected.cached_blocks;
    expected.cached_bytes -= at->bytes;
    freed.push_back(at->memory);
    return cached.erase(at);
  }

  BufferPoolOptions options_;
  std::size_t mark_ = 0;
};

struct Held {
  MemoryLease lease;
  StreamView last;
  bool others = false;
};

class AgainstTheReference : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(AgainstTheReference, RandomUseIsCountedAndOrdered) {
  std::mt19937_64 random(GetParam());
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const BufferPoolOptions options{
      .slack = 0.05 * static_cast<double>(below(10)),
      .floor_bytes = below(2) * (std::size_t{1} << 21),
      .limit_bytes = below(2) == 0 ? std::numeric_limits<std::size_t>::max() : std::size_t{48} << 20};
  SCOPED_TRACE(::testing::Message() << "seed " << GetParam() << ", slack " << options.slack);

  constexpr std::size_t streams = 5;
  FakeDevice device(streams);
  ReferencePool reference(options);
  {
    BufferPool pool(std::make_unique<FakeUpstream>(device), options);
    std::vector<Held> held;
    const auto give_back = [&](std::size_t i) {
      std::swap(held[i], held.back());
      const Held last = std::move(held.back());
      held.pop_back();
      reference.returned(last.lease.data(), last.lease.size_bytes(), last.lease.stream(), last.others);
    };
    for (int step = 0; step < 20'000; ++step) {
      const StreamView stream = device.stream(below(streams));
      const std::size_t what = below(100);
      if (what < 45 && held.size() < 40) {
        // Few sizes below 256 KiB, so that they recur, and sometimes one up to 1 MiB.
        const std::size_t bytes =
            1 + (below(8) == 0 ? below(1 << 20) : (1u << (6 + 2 * below(7))) + below(300));
        held.push_back({pool.take_bytes(bytes, stream), stream});
        ASSERT_TRUE(reference.taken(held.back().lease.data(), bytes, stream)) << "step " << step;
        device.use(held.back().lease.data(), stream);
      } else if (what < 80 && !held.empty()) {
        give_back(below(held.size()));
      } else if (what < 85 && !held.empty()) {
        // Another stream uses the memory, ordered after the one that used it last.
        Held& used = held[below(held.size())];
        if (used.last != stream) {
          FakeUpstream caller(device);
          const EventView after = caller.create_event();
          caller.record(after, used.last);
          caller.make_wait(stream, after);
          caller.destroy_event(after);
          device.use(used.lease.data(), stream);
          used.lease.record_stream(stream);
          used.last = stream;
          used.others |= stream != used.lease.stream();
        }
      } else if (what < 98) {
        device.finish(stream);
      } else if (what == 98) {
        for (std::size_t i = held.size(); i-- > 0;) {
          if (held[i].lease.stream() == stream) give_back(i);
        }
        pool.release_stream(stream);
        reference.released(stream);
      } else if (below(10) == 0) {
        pool.empty_cache();
        reference.emptied();
      }
      reference.expected.waits = pool.statistics().waits;  // depends on what was complete when
      ASSERT_EQ(pool.statistics().cached_blocks, reference.cached.size()) << "step " << step;
      ASSERT_EQ(pool.statistics(), reference.expected) << "step " << step;
      ASSERT_EQ(device.taken_bytes(), reference.expected.reserved_bytes()) << "step " << step;
      ASSERT_EQ(device.races, 0u) << "step " << step;
    }
    std::ranges::sort(device.deallocated);
    std::ranges::sort(reference.freed);
    EXPECT_EQ(device.deallocated, reference.freed);
    EXPECT_EQ(device.host_waits, 0u);
    EXPECT_GT(pool.statistics().hits, 3000u);
    EXPECT_GT(pool.statistics().waits, 100u);
    EXPECT_GT(pool.statistics().freed, 100u);
    EXPECT_LT(device.records, 4 * pool.statistics().waits + 2000) << "events are recorded when nobody asks";
  }
  EXPECT_EQ(device.races, 0u);
  EXPECT_EQ(device.blocks(), 0u);
  EXPECT_EQ(device.events, 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, AgainstTheReference, ::testing::Values(1, 2, 3, 4, 5, 6),
                         [](const auto& seed) { return "Seed" + std::to_string(seed.param); });

/// Sizes from 1 MiB to 4 GiB, uniform in scale, on 8 streams of a GPU of 140 GiB that is kept `full`.
void expect_peak_reserved_near_peak_live(double full_part) {
  constexpr std::size_t card = std::size_t{140} << 30;
  const auto full = static_cast<std::size_t>(full_part * static_cast<double>(card));
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    std::mt19937_64 random(seed);
    FakeDevice device(8, card);
    BufferPool pool(std::make_unique<FakeUpstream>(device), {.limit_bytes = card / 100 * 99});
    std::vector<MemoryLease> live;
    std::size_t live_bytes = 0;
    std::size_t peak_live = 0;
    std::size_t peak_reserved = 0;
    for (int step = 0; step < 20'000; ++step) {
      const double scale = static_cast<double>(random() >> 11) * 0x1p-53;
      const auto bytes = static_cast<std::size_t>(std::exp2(20.0 + 12.0 * scale));
      while (live_bytes + bytes > full) {
        std::swap(live[random() % live.size()], live.back());
        live_bytes -= live.back().size_bytes();
        device.use(live.back().data(), live.back().stream());
        live.pop_back();
      }
      live.push_back(pool.take_bytes(bytes, device.stream(random() % 8)));
      live_bytes += bytes;
      peak_live = std::max(peak_live, live_bytes);
      peak_reserved = std::max(peak_reserved, device.taken_bytes());
      if (step % 7 == 0) device.finish(device.stream(random() % 8));
    }
    const PoolStatistics stats = pool.statistics();
    EXPECT_GT(static_cast<double>(peak_live), 0.99 * static_cast<double>(full));
    EXPECT_LE(static_cast<double>(peak_reserved), 1.10 * static_cast<double>(peak_live)) << "seed " << seed;
    EXPECT_EQ(peak_reserved, stats.reserved_high_water_bytes);
    EXPECT_EQ(device.host_waits, 0u) << "the cache was emptied for want of memory";
    EXPECT_EQ(device.races, 0u);
    std::printf("seed %d: peak reserved / peak live %.4f, hits %.1f %%, waits %llu\n", static_cast<int>(seed),
                static_cast<double>(peak_reserved) / static_cast<double>(peak_live),
                100.0 * static_cast<double>(stats.hits) / static_cast<double>(stats.hits + stats.misses),
                static_cast<unsigned long long>(stats.waits));
  }
}

TEST(Trace, OfACardThatIs95PercentFullReservesLittleMoreThanIsLive) {
  expect_peak_reserved_near_peak_live(0.95);
}

TEST(Trace, OfACardThatIsHalfFullDoesToo) {
  expect_peak_reserved_near_peak_live(0.5);
}

}  // namespace
}  // namespace tessera::testing

// SPDX-License-Identifier: Apache-2.0
// The buffer pool on real streams never reuses memory too early, which would show in a pattern.
#include "gpu_memory.hpp"
#include "malloc_upstream.hpp"

#include <tessera/error.hpp>
#include <tessera/memory/device_buffer_pools.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <random>
#include <thread>

namespace tessera::testing {
namespace {

constexpr std::size_t elements = std::size_t{1} << 18;  // 1 MiB

class PoolOnDevice : public RealMemory, public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    RealMemory::SetUp();
    if (IsSkipped()) return;
    context.emplace(devices[0]);
    context->bind();
    a.emplace(*context);
    b.emplace(*context);
    // A kernel's first launch may wait for the device, and must not while another one waits at a gate.
    BufferPool pool(upstream());
    const Counter wrong;
    const auto buffer = pool.take<std::uint32_t>(elements, *a);
    fill(*a, buffer.data(), elements, 0);
    count(*a, buffer.data(), elements, 0, wrong.get());
    a->synchronize();
    ASSERT_EQ(wrong.value(), 0u);
  }

  std::unique_ptr<MemoryUpstream> upstream() {
    return GetParam() ? make_upstream(*context) : make_malloc_upstream(*context);
  }
  /// A pool with one block, so that the upstream is not used while a kernel waits.
  std::unique_ptr<BufferPool> pool_of_one(bool guarded) {
    auto pool =
        std::make_unique<BufferPool>(guarded ? upstream() : std::make_unique<WithoutGuard>(upstream()));
    (void)pool->take<std::uint32_t>(elements, *a);
    return pool;
  }

  std::optional<DeviceContext> context;
  std::optional<Stream> a;
  std::optional<Stream> b;
};

INSTANTIATE_TEST_SUITE_P(Upstreams, PoolOnDevice, ::testing::Bool(),
                         [](const auto& pooled) { return pooled.param ? "CudaMallocAsync" : "CudaMalloc"; });

/// `late` still writes to memory that its lease has returned when `early` takes and writes it. Returns the
/// number of elements that `early` does not find as written.
unsigned long long lost_after_reuse(BufferPool& pool, const Stream& owner, const Stream& late,
                                    const Stream& early, bool guarded) {
  const Counter wrong;
  Gate gate;
  void* at = nullptr;
  {
    auto buffer = pool.take<std::uint32_t>(elements, owner);
    at = buffer.data();
    if (late.native() != owner.native()) buffer.record_stream(late);
    fill(late, buffer.data(), elements, 1, &gate);
  }
  const auto buffer = pool.take<std::uint32_t>(elements, early);
  EXPECT_EQ(buffer.data(), at) << "this memory was not reused";
  EXPECT_EQ(pool.statistics().waits, 1u);
  fill(early, buffer.data(), elements, 2);
  if (guarded) {
    // The writer waits for the one at the gate.
    EXPECT_EQ(cudaStreamQuery(native(early)), cudaErrorNotReady);
    (void)cudaGetLastError();
  } else {
    early.synchronize();
  }
  gate.open();
  late.synchronize();
  early.synchronize();
  count(early, buffer.data(), elements, 2, wrong.get());
  early.synchronize();
  return wrong.value();
}

TEST_P(PoolOnDevice, AnotherStreamWritesAfterTheWorkThatStillRuns) {
  const auto pool = pool_of_one(true);
  EXPECT_EQ(lost_after_reuse(*pool, *a, *a, *b, true), 0u);
}

TEST_P(PoolOnDevice, WithoutTheGuardThatIsSeen) {
  const auto pool = pool_of_one(false);
  EXPECT_EQ(lost_after_reuse(*pool, *a, *a, *b, false), elements);
}

TEST_P(PoolOnDevice, TheOwnerWritesAfterTheOtherStreamThatWasRecorded) {
  const auto pool = pool_of_one(true);
  EXPECT_EQ(lost_after_reuse(*pool, *a, *b, *a, true), 0u);
}

TEST_P(PoolOnDevice, WithoutTheGuardThatIsSeenToo) {
  const auto pool = pool_of_one(false);
  EXPECT_EQ(lost_after_reuse(*pool, *a, *b, *a, false), elements);
}

TEST_P(PoolOnDevice, RandomUseOnFourStreamsLosesNothing) {
  constexpr std::uint64_t seed = 7;
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  std::vector<Stream> streams;
  std::vector<Event> events;
  for (int i = 0; i < 4; ++i) {
    streams.emplace_back(*context);
    events.emplace_back(*context);
  }
  const Counter wrong;
  BufferPool pool(upstream(), {.floor_bytes = 0});
  std::vector<Buffer<std::uint32_t>> held;
  for (std::uint32_t step = 1; step <= 4000; ++step) {
    const std::size_t on = random() % streams.size();
    const std::size_t size = (std::size_t{1} << (8 + 2 * (random() % 6))) + random() % 64;
    held.push_back(pool.take<std::uint32_t>(size, streams[on]));
    auto& buffer = held.back();
    fill(streams[on], buffer.data(), size, step);
    std::size_t reader = on;
    if (random() % 4 == 0) {
      reader = random() % streams.size();
      events[reader].record(streams[on]);
      events[reader].make_wait(streams[reader]);
      buffer.record_stream(streams[reader]);
    }
    count(streams[reader], buffer.data(), size, step, wrong.get());
    while (held.size() > random() % 6) {
      std::swap(held[random() % held.size()], held.back());
      held.pop_back();
    }
  }
  held.clear();
  for (const Stream& stream : streams) stream.synchronize();
  EXPECT_EQ(wrong.value(), 0u);
  EXPECT_GT(pool.statistics().waits, 0u);
  EXPECT_GT(pool.statistics().hits, 2000u);
  for (const Stream& stream : streams) pool.release_stream(stream);
  EXPECT_EQ(pool.statistics().cached_bytes, 0u);
}

TEST_P(PoolOnDevice, ZerosWhatItIsAskedTo) {
  BufferPool pool(upstream());
  const Counter wrong;
  {
    const auto dirty = pool.take<std::uint32_t>(elements, *a);
    fill(*a, dirty.data(), elements, 7);
  }
  const auto clean = pool.take<std::uint32_t>(elements - 3, *a, Fill::zero);
  count(*a, clean.data(), elements - 3, 0, wrong.get());
  count(*a, clean.data() + elements - 3, 3, 7, wrong.get());  // and no more than that
  a->synchronize();
  EXPECT_EQ(wrong.value(), 0u);
  EXPECT_EQ(pool.statistics().hits, 1u);
}

TEST_P(PoolOnDevice, TheDefaultStreamsAreRefused) {
  BufferPool pool(upstream());
  auto buffer = pool.take<int>(100, *a);
  for (cudaStream_t stream : {cudaStream_t{}, cudaStreamLegacy, cudaStreamPerThread}) {
    EXPECT_THROW((void)pool.take<int>(100, StreamView(stream)), Error);
    EXPECT_THROW(buffer.record_stream(StreamView(stream)), Error);
  }
}

TEST_P(PoolOnDevice, GivesUpItsCacheForALargerBuffer) {
  BufferPool pool(upstream());
  const std::size_t free = pool.memory_info().free_bytes;
  (void)pool.take<char>(free / 10 * 6, *a);
  EXPECT_TRUE(pool.take<char>(free / 10 * 7, *b));
  (void)pool.take<char>(free / 10 * 4, *a);
  EXPECT_LE(pool.statistics().reserved_bytes(), free);
}

TEST_P(PoolOnDevice, SaysWhatThereIsWhenMemoryHasRunOut) {
  BufferPool pool(upstream());
  const std::size_t total = pool.memory_info().total_bytes;
  (void)pool.take<char>(1 << 20, *a);
  try {
    (void)pool.take<char>(total + 1, *b);
    FAIL() << "it had that";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::job_fault);
    EXPECT_NE(std::string(error.what()).find(" of " + std::to_string(total)), std::string::npos)
        << error.what();
  }
  EXPECT_TRUE(pool.take<char>(1 << 20, *a));
  EXPECT_NO_THROW(context->synchronize()) << "an error was left behind";
}

TEST_P(PoolOnDevice, EmptyingGivesMemoryBackToTheDevice) {
  constexpr std::size_t gib = std::size_t{1} << 30;
  BufferPool pool(upstream());
  const std::size_t before = pool.memory_info().free_bytes;
  (void)pool.take<char>(2 * gib, *a);
  a->synchronize();
  EXPECT_LE(pool.memory_info().free_bytes, before - 2 * gib);
  pool.empty_cache();
  a->synchronize();
  pool.empty_cache();
  EXPECT_GE(pool.memory_info().free_bytes + gib / 4, before);
}

TEST_P(PoolOnDevice, ALeaseOutlivesItsContext) {
  std::optional<BufferPool> pool(std::in_place, upstream());
  Buffer<std::uint32_t> kept = pool->take<std::uint32_t>(elements, context->stream());
  const StreamView stream = context->stream();
  a.reset();
  b.reset();
  pool.reset();
  context.reset();
  fill(stream, kept.data(), elements, 1);
  kept = {};
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_P(PoolOnDevice, ServesAThreadOnWhichNoDeviceIsCurrent) {
  BufferPool pool(upstream());
  (void)pool.take<int>(1000, *a);
  std::thread([&] {
    (void)pool.take<int>(1000, *b);                 // an event is recorded on a and b waits
    (void)pool.take<int>(100'000, *b, Fill::zero);  // upstream is asked
  }).join();
  EXPECT_EQ(pool.statistics().waits, 1u);
  b->synchronize();
}

TEST_F(RealMemory, DevicesHavePoolsOfTheirOwn) {
  if (devices.size() < 2) GTEST_SKIP() << "there is one device only";
  std::vector<DevicePool::Entry> entries;
  for (std::size_t i = 0; i < devices.size(); ++i)
    entries.push_back({.info = devices[i],
                       .ordinal = Ordinal{static_cast<int>(i)},
                       .score = 1,
                       .claim_index = static_cast<int>(i)});
  DevicePool all(std::move(entries));
  DeviceBufferPools pools(all);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < all.size(); ++i) {
      threads.emplace_back([&, i] {
        const DeviceContext& context = all.context_at(i);
        context.bind();
        const Counter wrong;
        for (std::uint32_t round = 0; round < 100; ++round) {
          const auto buffer = pools.pool_at(i).take<std::uint32_t>(elements, context.stream());
          fill(context.stream(), buffer.data(), elements, round);
          count(context.stream(), buffer.data(), elements, round, wrong.get());
        }
        context.synchronize();
        EXPECT_EQ(wrong.value(), 0u);
      });
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(pools.pool_at(i).statistics().hits, 99u);
    EXPECT_EQ(pools.pool_at(i).statistics().misses, 1u);
  }
  // From here on the last device is current; the first is still emptied.
  all.context_at(all.size() - 1).bind();
  pools.empty_cache(0);
  EXPECT_EQ(pools.pool_at(0).statistics().cached_bytes, 0u);
  EXPECT_EQ(pools.pool_at(1).statistics().cached_bytes, elements * sizeof(std::uint32_t));
  pools.empty_cache_all();
  EXPECT_EQ(pools.pool_at(1).statistics().cached_bytes, 0u);
}

TEST_F(RealMemory, StreamsAndEventsOrderWork) {
  const DeviceContext context(devices[0]);
  const Stream first(context);
  Stream second(context);
  Event done(context);
  EXPECT_TRUE(done.ready()) << "it was never recorded";
  const Counter wrong;
  BufferPool pool(make_upstream(context));
  auto buffer = pool.take<std::uint32_t>(elements, first);
  fill(first, buffer.data(), elements, 3);
  count(second, buffer.data(), 0, 0, wrong.get());
  first.synchronize();
  second.synchronize();
  {
    Gate gate;
    fill(first, buffer.data(), elements, 4, &gate);
    done.record(first);
    EXPECT_FALSE(done.ready());
    done.make_wait(second);
    count(second, buffer.data(), elements, 4, wrong.get());
    gate.open();
    done.synchronize();
    EXPECT_TRUE(done.ready());
  }
  second.synchronize();
  EXPECT_EQ(wrong.value(), 0u);
  Stream moved = std::move(second);
  EXPECT_NE(moved.native(), nullptr);
}

}  // namespace
}  // namespace tessera::testing

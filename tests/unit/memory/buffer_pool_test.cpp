// SPDX-License-Identifier: Apache-2.0
#include "fake_device.hpp"
#include "support/errors.hpp"

#include <tessera/error.hpp>
#include <tessera/memory/buffer_pool.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tessera::testing {
namespace {

class FakePool : public ::testing::Test {
 protected:
  void TearDown() override {
    pool.reset();
    EXPECT_EQ(device.races, 0u);
    EXPECT_EQ(device.events, 0u);
    EXPECT_EQ(device.blocks(), 0u);
  }
  MemoryLease take(std::size_t bytes, StreamView stream) { return pool->take_bytes(bytes, stream); }
  /// Takes, uses and returns memory; returns its address.
  void* use(std::size_t bytes, StreamView stream) {
    const MemoryLease lease = take(bytes, stream);
    device.use(lease.data(), stream);
    return lease.data();
  }
  void replace_pool(BufferPoolOptions options) {
    pool.emplace(std::make_unique<FakeUpstream>(device), options);
  }
  [[nodiscard]] PoolStatistics stats() const { return pool->statistics(); }

  FakeDevice device{4};
  StreamView a = device.stream(0);
  StreamView b = device.stream(1);
  StreamView c = device.stream(2);
  std::optional<BufferPool> pool{std::in_place, std::make_unique<FakeUpstream>(device)};
};

TEST_F(FakePool, OneStreamHasItsMemoryBackAtOnceAndWithoutAnEvent) {
  void* first = use(10 * kib, a);
  EXPECT_EQ(use(10 * kib - 1, a), first);
  EXPECT_EQ(use(9 * kib + 1, a), first);
  EXPECT_NE(use(9 * kib, a), first);
  EXPECT_EQ(device.records, 0u);
  EXPECT_EQ(stats().hits, 2u);
  EXPECT_EQ(stats().misses, 2u);
}

TEST_F(FakePool, AClassIsLastInFirstOut) {
  std::array leases{take(kib, a), take(kib, a), take(kib, a)};
  const std::array at{leases[0].data(), leases[1].data(), leases[2].data()};
  leases[1].reset();
  leases[0].reset();
  leases[2].reset();
  EXPECT_EQ((leases[0] = take(kib, a)).data(), at[2]);
  EXPECT_EQ((leases[1] = take(kib, a)).data(), at[0]);
  EXPECT_EQ((leases[2] = take(kib, a)).data(), at[1]);
}

TEST_F(FakePool, AnotherStreamWaitsForTheWorkThatIsNotComplete) {
  void* first = use(mib, a);
  const MemoryLease lease = take(mib, b);
  device.use(lease.data(), b);
  EXPECT_EQ(lease.data(), first);
  EXPECT_EQ(stats().waits, 1u);
  EXPECT_EQ(stats().misses, 1u);
  EXPECT_EQ(device.host_waits, 0u);
}

TEST(FakeDevice, WouldTellOfAStreamThatDoesNotWait) {
  FakeDevice broken(2);
  broken.holds = false;
  BufferPool pool(std::make_unique<FakeUpstream>(broken));
  for (std::size_t i : {0, 1}) {
    const MemoryLease lease = pool.take_bytes(mib, broken.stream(i));
    EXPECT_EQ(broken.races, 0u);
    broken.use(lease.data(), broken.stream(i));
  }
  EXPECT_EQ(broken.races, 1u);
}

TEST_F(FakePool, AnotherStreamPrefersWhatIsComplete) {
  MemoryLease of_a = take(mib, a);
  std::array of_b{take(mib, b), take(mib, b)};
  void* complete = of_b[1].data();
  for (MemoryLease& lease : of_b) lease.reset();
  const MemoryLease first = take(mib, c);  // records the end of b
  device.finish(b);
  of_a.reset();
  EXPECT_EQ(take(mib, c).data(), complete);
  EXPECT_EQ(stats().waits, 1u);
}

TEST_F(FakePool, WorkThatIsKnownToBeCompleteIsNotWaitedForAndNotAskedForAgain) {
  std::array leases{take(mib, a), take(mib, a), take(mib, a)};
  for (MemoryLease& lease : leases) lease.reset();
  leases[0] = take(mib, b);  // records the end of a
  EXPECT_EQ(stats().waits, 1u);
  EXPECT_EQ(device.records, 1u);
  device.finish(a);
  leases[1] = take(mib, b);
  leases[2] = take(mib, c);
  EXPECT_EQ(stats().waits, 1u);
  EXPECT_EQ(device.records, 1u);
  EXPECT_EQ(stats().hits, 3u);
}

TEST_F(FakePool, AnEventRecordedLateStandsForTheReturnsBeforeIt) {
  std::array leases{take(mib, a), take(mib, a)};
  for (MemoryLease& lease : leases) lease.reset();
  leases = {take(mib, b), take(mib, c)};
  EXPECT_EQ(stats().waits, 2u);
  EXPECT_EQ(device.records, 1u);
}

TEST_F(FakePool, AStreamThatUsedTheMemoryOfAnotherIsWaitedForByItsOwnerToo) {
  MemoryLease lease = take(mib, a);
  lease.record_stream(b);
  lease.record_stream(b);
  lease.record_stream(a);
  void* at = lease.data();
  device.use(at, a);
  // The caller orders b's use after the take.
  const EventView after = EventView(new FakeDevice::Clock());
  FakeUpstream events(device);
  events.record(after, a);
  events.make_wait(b, after);
  device.use(at, b);
  lease.reset();
  EXPECT_EQ(device.records, 2u);  // and one of them was the test's
  EXPECT_EQ(use(mib, a), at);
  EXPECT_EQ(stats().waits, 1u);
  EXPECT_EQ(use(mib, a), at);
  EXPECT_EQ(stats().waits, 1u);
  ++device.events;
  events.destroy_event(after);
}

TEST_F(FakePool, WhatOthersStillUseIsTakenLast) {
  std::array leases{take(mib, a), take(mib, a)};
  const std::array at{leases[0].data(), leases[1].data()};
  leases[0].reset();
  leases[1].record_stream(b);
  leases[1].reset();
  EXPECT_EQ((leases[0] = take(mib, a)).data(), at[0]);
  EXPECT_EQ(stats().waits, 0u);
  device.finish(b);
  EXPECT_EQ((leases[1] = take(mib, a)).data(), at[1]);
  EXPECT_EQ(stats().waits, 0u);
}

TEST_F(FakePool, MemoryThatOthersUseGoesUpstreamAfterThem) {
  {
    MemoryLease lease = take(mib, a);
    lease.record_stream(b);
    device.finish(a);
    device.use(lease.data(), b);
  }
  pool->empty_cache();  // a race here if a did not wait for b
  EXPECT_EQ(device.blocks(), 0u);
}

TEST_F(FakePool, TheDefaultStreamIsRefused) {
  error_of(ErrorCode::usage, [&] { (void)take(kib, {}); });
  MemoryLease lease = take(kib, a);
  error_of(ErrorCode::usage, [&] { lease.record_stream({}); });
  EXPECT_EQ(stats().misses, 1u);
}

TEST_F(FakePool, NothingIsLeasedForNoBytes) {
  const Buffer<double> none = pool->take<double>(0, a);
  EXPECT_FALSE(none);
  EXPECT_EQ(none.data(), nullptr);
  EXPECT_EQ(stats(), PoolStatistics{});
}

TEST_F(FakePool, ALeaseMovesAndIsReturnedOnce) {
  MemoryLease lease = take(kib, a);
  void* at = lease.data();
  MemoryLease moved = std::move(lease);
  // NOLINTNEXTLINE(bugprone-use-after-move,clang-analyzer-cplusplus.Move): this is tested
  EXPECT_EQ(lease.data(), nullptr);
  EXPECT_EQ(moved.data(), at);
  EXPECT_EQ(moved.size_bytes(), kib);
  EXPECT_EQ(moved.stream(), a);
  moved = take(2 * kib, a);
  EXPECT_EQ(stats().returns, 1u);
  moved.reset();
  moved.reset();
  EXPECT_EQ(stats().returns, 2u);
  EXPECT_EQ(stats().in_use_bytes, 0u);
}

TEST_F(FakePool, BuffersCountElements) {
  const Buffer<double> buffer = pool->take<double>(1000, a, Fill::zero);
  EXPECT_EQ(buffer.size(), 1000u);
  EXPECT_EQ(buffer.size_bytes(), 8000u);
  EXPECT_EQ(buffer.stream(), a);
  ASSERT_EQ(device.zeroed.size(), 1u);
  EXPECT_EQ(device.zeroed[0], std::pair(static_cast<void*>(buffer.data()), std::size_t{8000}));
}

TEST_F(FakePool, StatisticsAreExact) {
  {
    const MemoryLease one = take(4 * kib, a);
    const MemoryLease two = take(4 * kib, a);
    PoolStatistics expected;
    expected.misses = 2;
    expected.in_use_bytes = expected.high_water_bytes = expected.reserved_high_water_bytes = 8 * kib;
    EXPECT_EQ(stats(), expected);
  }
  const MemoryLease three = take(4 * kib, a);
  PoolStatistics expected;
  expected.misses = 2;
  expected.hits = 1;
  expected.returns = 2;
  expected.in_use_bytes = expected.cached_bytes = 4 * kib;
  expected.cached_blocks = 1;
  expected.high_water_bytes = expected.reserved_high_water_bytes = 8 * kib;
  EXPECT_EQ(stats(), expected);
  pool->reset_statistics();
  expected.misses = expected.hits = expected.returns = 0;
  expected.high_water_bytes = 4 * kib;
  EXPECT_EQ(stats(), expected);
  pool->empty_cache();
  expected.freed = 1;
  expected.cached_bytes = expected.cached_blocks = 0;
  EXPECT_EQ(stats(), expected);
  EXPECT_EQ(pool->memory_info().total_bytes - pool->memory_info().free_bytes, 4 * kib);
}

TEST_F(FakePool, ReservedStaysNearTheHighWaterMark) {
  replace_pool({.slack = 0.25, .floor_bytes = 0});
  (void)use(4 * mib, a);
  (void)use(mib, a);  // 5 MiB are a quarter more than 4
  EXPECT_EQ(stats().reserved_bytes(), 5 * mib);
  (void)use(mib + 1, b);  // one byte more is too much, and the oldest is freed
  EXPECT_EQ(stats().cached_bytes, 2 * mib + mib / 16);
  EXPECT_EQ(stats().freed, 1u);
  pool->empty_cache();  // and the mark with it
  (void)use(mib, a);
  (void)use(mib / 2, a);
  EXPECT_EQ(stats().cached_bytes, mib / 2);
}

TEST_F(FakePool, ASmallCacheIsNotTrimmed) {
  replace_pool({.slack = 0, .floor_bytes = 4 * mib});
  for (std::size_t size : {mib, mib / 2, mib / 4}) (void)use(size, a);
  EXPECT_EQ(stats().freed, 0u);
  (void)use(4 * mib, a);
  EXPECT_EQ(stats().freed, 3u);
}

TEST_F(FakePool, TheLimitIsKept) {
  replace_pool({.limit_bytes = 4 * mib});
  MemoryLease three = take(3 * mib, a);
  (void)use(mib, a);
  (void)use(mib / 2, a);
  EXPECT_EQ(stats().reserved_bytes(), 3 * mib + mib / 2);
  const std::string message = error_of(ErrorCode::job_fault, [&] { (void)take(2 * mib, a); });
  EXPECT_NE(message.find("2097152 bytes were requested"), std::string::npos) << message;
  EXPECT_NE(message.find("limit is 4194304"), std::string::npos) << message;
  EXPECT_EQ(stats().cached_bytes, mib / 2) << "what cannot help was freed";
  three.reset();
  EXPECT_TRUE(take(4 * mib, a));
  EXPECT_EQ(device.host_waits, 0u);
}

TEST_F(FakePool, OutOfMemoryFreesTheCacheWaitsAndTriesAgain) {
  FakeDevice small(2, 8 * mib);
  BufferPool tight(std::make_unique<FakeUpstream>(small), {.slack = 10});
  const MemoryLease kept = tight.take_bytes(2 * mib, small.stream(0));
  (void)tight.take_bytes(4 * mib, small.stream(0));
  (void)tight.take_bytes(mib, small.stream(1));
  MemoryLease all = tight.take_bytes(6 * mib, small.stream(1));
  EXPECT_TRUE(all);
  EXPECT_EQ(tight.statistics().freed, 2u);
  EXPECT_EQ(small.host_waits, 0u) << "what was freed was enough";
  all.reset();
  const std::string message =
      error_of(ErrorCode::job_fault, [&] { (void)tight.take_bytes(7 * mib, small.stream(1)); });
  EXPECT_EQ(message,
            "buffer pool: 7340032 bytes were requested, but device memory has run out: 2097152 bytes in use, "
            "6291456 cached (freed); the device has 6291456 free of 8388608");
  EXPECT_EQ(tight.statistics().cached_bytes, 0u);
  EXPECT_EQ(small.host_waits, 2u);
  EXPECT_EQ(tight.statistics().misses, 4u) << "a take that failed is no miss";
  EXPECT_TRUE(tight.take_bytes(6 * mib, small.stream(0)));
  EXPECT_EQ(small.races, 0u);
}

TEST_F(FakePool, ARefusalFreesNoMoreThanIsNeededAndIsNotRepeated) {
  FakeDevice small(1, 10 * mib);
  const StreamView stream = small.stream(0);
  BufferPool tight(std::make_unique<FakeUpstream>(small), {.slack = 10});
  {
    std::vector<MemoryLease> four;
    for (int i = 0; i < 4; ++i) four.push_back(tight.take_bytes(2 * mib, stream));
  }
  const MemoryLease first = tight.take_bytes(3 * mib, stream);
  EXPECT_EQ(small.refusals, 1u);
  EXPECT_EQ(tight.statistics().cached_bytes, 4 * mib) << "the device has shown to hold 8 MiB";
  const MemoryLease second = tight.take_bytes(3 * mib, stream);
  EXPECT_EQ(tight.statistics().cached_bytes, 2 * mib);
  EXPECT_EQ(small.refusals, 1u);
}

TEST_F(FakePool, MemoryThatOthersGaveBackIsFoundInTime) {
  FakeDevice shared(1, 20 * mib);
  FakeUpstream other(shared);
  const StreamView stream = shared.stream(0);
  BufferPool wide(std::make_unique<FakeUpstream>(shared), {.slack = 10});
  void* theirs = other.allocate(12 * mib, stream);
  (void)wide.take_bytes(4 * mib, stream);
  (void)wide.take_bytes(5 * mib, stream);
  EXPECT_EQ(wide.statistics().cached_bytes, 5 * mib);
  other.deallocate(theirs, 12 * mib, stream);
  for (std::size_t i = 0; i < 1000; ++i) (void)wide.take_bytes((i % 2 == 0 ? 4 : 5) * mib, stream);
  EXPECT_EQ(wide.statistics().cached_bytes, 9 * mib);
  EXPECT_EQ(shared.refusals, 1u);
}

TEST_F(FakePool, WhatNoDeviceHasIsRefused) {
  const std::string message = error_of(ErrorCode::job_fault, [&] {
    (void)pool->take<double>(std::numeric_limits<std::size_t>::max() / 4, a);
  });
  EXPECT_NE(message.find("18446744073709551615 bytes"), std::string::npos) << message;
}

TEST_F(FakePool, AStreamIsReleasedBeforeItIsDestroyed) {
  pool->release_stream(c);  // never seen
  MemoryLease lease = take(mib, a);
  (void)use(2 * mib, a);
  EXPECT_NE(error_of(ErrorCode::usage, [&] { pool->release_stream(a); }).find("1 leases are bound"),
            std::string::npos);
  lease.reset();
  (void)use(mib, b);  // a's block is b's now
  pool->release_stream(a);
  EXPECT_EQ(stats().cached_bytes, mib);
  EXPECT_EQ(device.blocks(), 1u);
  pool->release_stream(b);
  EXPECT_EQ(device.blocks(), 0u);
  (void)use(mib, a);  // and one may come back with the same address
}

TEST_F(FakePool, AReleasedStreamsUseOfOthersMemoryIsStillWaitedFor) {
  MemoryLease returned = take(mib, a);
  MemoryLease held = take(2 * mib, a);
  device.finish(a);
  for (MemoryLease* lease : {&returned, &held}) {
    lease->record_stream(b);
    device.use(lease->data(), b);
  }
  returned.reset();
  pool->release_stream(b);
  const std::size_t records = device.records;
  held.reset();
  EXPECT_EQ(device.records, records) << "an event was recorded on a stream that may be gone";
  (void)use(mib, b);
  (void)use(2 * mib, a);
}

TEST_F(FakePool, LeasesMayOutliveThePool) {
  MemoryLease lease = take(mib, a);
  MemoryLease other = take(mib, b);
  (void)use(2 * mib, a);
  pool.reset();
  EXPECT_EQ(device.blocks(), 2u);
  device.use(lease.data(), a);
  lease.reset();
  EXPECT_EQ(device.blocks(), 1u);
  other.reset();
  EXPECT_EQ(device.blocks(), 0u);
}

TEST_F(FakePool, OfALostDeviceSaysSoAndIsGivenUpInOrder) {
  MemoryLease one = take(mib, a);
  MemoryLease two = take(2 * mib, a);
  two.record_stream(b);
  one.reset();
  const PoolStatistics before = stats();
  device.lost = true;
  error_of(ErrorCode::job_fault, [&] { (void)take(mib, b); });      // cannot wait
  error_of(ErrorCode::job_fault, [&] { (void)take(3 * mib, a); });  // nor allocate
  EXPECT_EQ(stats(), before);
  two.reset();
  EXPECT_EQ(stats().in_use_bytes, 0u);
  EXPECT_EQ(stats().cached_blocks, 2u);
  pool.reset();
  EXPECT_EQ(device.blocks(), 0u);
}

TEST_F(FakePool, APoolMoves) {
  MemoryLease lease = take(mib, a);
  BufferPool moved = std::move(*pool);
  lease.reset();
  EXPECT_EQ(moved.statistics().cached_bytes, mib);
}

TEST(BufferPool, ANegativeSlackIsRefused) {
  EXPECT_NE(
      error_of(ErrorCode::usage, [] { BufferPool(make_host_upstream(1), {.slack = -0.1}); }).find("slack"),
      std::string::npos);
}

TEST(SimulatedPool, StreamsThatShareANullHandleCanBeReleased) {
  BufferPool pool(make_host_upstream(4 * mib));
  const MemoryLease lease = pool.take_bytes(mib, {});
  EXPECT_NO_THROW(pool.release_stream({}));
  EXPECT_EQ(pool.statistics().in_use_bytes, mib);
}

TEST(BufferPool, ServesTheHostToo) {
  BufferPool pool(make_host_upstream(4 * mib));
  const Buffer<int> zeros = pool.take<int>(1000, {}, Fill::zero);
  for (std::size_t i = 0; i < zeros.size(); ++i) ASSERT_EQ(zeros.data()[i], 0);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(zeros.data()) % 256, 0u);
  error_of(ErrorCode::job_fault, [&] { (void)pool.take<char>(5 * mib, {}); });
}

}  // namespace
}  // namespace tessera::testing

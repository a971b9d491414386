// SPDX-License-Identifier: Apache-2.0
#include "support/errors.hpp"

#include <tessera/error.hpp>
#include <tessera/memory/device_buffer_pools.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <thread>
#include <vector>

namespace tessera {
namespace {

constexpr std::int64_t mib = std::int64_t{1} << 20;

/// Simulated devices with 1, 2, … MiB, the largest first in the pool.
DevicePool simulated(int count) {
  std::vector<DevicePool::Entry> entries(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    DevicePool::Entry& entry = entries[static_cast<std::size_t>(i)];
    entry.info.simulated = true;
    entry.info.total_memory_bytes = entry.info.free_memory_bytes = (i + 1) * mib;
    entry.score = static_cast<std::uint64_t>(i) + 1;
    entry.claim_index = i;
  }
  return DevicePool(std::move(entries));
}

TEST(DeviceBufferPools, HaveOneForEachDevice) {
  DevicePool devices = simulated(3);
  DeviceBufferPools pools(devices);
  ASSERT_EQ(pools.size(), 3u);
  EXPECT_EQ(pools.pool_at(0).memory_info().total_bytes, 3u * mib);
  EXPECT_EQ(pools.pool_at(2).memory_info().total_bytes, 1u * mib);
  EXPECT_EQ(&pools.pool_at(1), &pools.pool_at(1));
}

TEST(DeviceBufferPools, EmptyingOneChangesNoOther) {
  DevicePool devices = simulated(3);
  DeviceBufferPools pools(devices);
  for (std::size_t i = 0; i < 3; ++i) (void)pools.pool_at(i).take<char>(1000 * (i + 1), {});
  const PoolStatistics before[] = {pools.pool_at(0).statistics(), pools.pool_at(2).statistics()};
  pools.empty_cache(1);
  EXPECT_EQ(pools.pool_at(1).statistics().cached_bytes, 0u);
  EXPECT_EQ(pools.pool_at(0).statistics(), before[0]);
  EXPECT_EQ(pools.pool_at(2).statistics(), before[1]);
  pools.empty_cache_all();
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(pools.pool_at(i).statistics().cached_bytes, 0u);
}

TEST(DeviceBufferPools, RefuseADeviceThatIsNotThere) {
  DevicePool devices = simulated(1);
  DeviceBufferPools pools(devices);
  pools.empty_cache_all();
  for (auto call : {+[](DeviceBufferPools& all) { (void)all.pool_at(1); },
                    +[](DeviceBufferPools& all) { all.empty_cache(1); }}) {
    error_of(ErrorCode::usage, [&] { call(pools); });
  }
}

TEST(DeviceBufferPools, AreMadeOnce) {
  DevicePool devices = simulated(2);
  DeviceBufferPools pools(devices);
  std::vector<BufferPool*> seen(8);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < seen.size(); ++i)
      threads.emplace_back([&, i] { seen[i] = &pools.pool_at(i % 2); });
  }
  for (std::size_t i = 2; i < seen.size(); ++i) EXPECT_EQ(seen[i], seen[i % 2]);
  EXPECT_NE(seen[0], seen[1]);
}

}  // namespace
}  // namespace tessera

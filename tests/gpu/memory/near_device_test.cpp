// SPDX-License-Identifier: Apache-2.0
// Pinned memory, workspaces and arenas of a real device.
#include "gpu_memory.hpp"

#include <tessera/memory/arena.hpp>
#include <tessera/memory/pinned.hpp>
#include <tessera/memory/workspace_pool.hpp>

#include <cstddef>
#include <numeric>

namespace tessera::testing {
namespace {

constexpr std::size_t numbers = std::size_t{1} << 18;

TEST_F(RealMemory, PinnedMemoryIsKnownToCudaAndOnTheDevicesNode) {
  const DeviceContext context(devices[0]);
  const PinnedBuffer<std::uint32_t> out(numbers, context);
  const PinnedBuffer<std::uint32_t> back(numbers, context);
  EXPECT_TRUE(out.memory().pinned());
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, out.data()));
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  RecordProperty("near_device", out.memory().near_device() ? "yes" : "no");

  BufferPool pool(make_upstream(context));
  const auto buffer = pool.take<std::uint32_t>(numbers, context.stream());
  std::iota(out.begin(), out.end(), 5u);
  const cudaStream_t stream = native(context.stream());
  check(cudaMemcpyAsync(buffer.data(), out.data(), out.size_bytes(), cudaMemcpyHostToDevice, stream));
  check(cudaMemcpyAsync(back.data(), buffer.data(), back.size_bytes(), cudaMemcpyDeviceToHost, stream));
  context.synchronize();
  EXPECT_TRUE(std::equal(out.begin(), out.end(), back.begin()));
}

TEST_F(RealMemory, AWorkspaceGoesToAnotherStreamAfterTheWorkThatStillRuns) {
  const DeviceContext context(devices[0]);
  const Stream other(context);
  const Counter wrong;
  WorkspacePool pool(make_upstream(context));
  void* at = nullptr;
  {
    const MemoryLease first = pool.take(numbers * 4, context.stream());
    at = first.data();
    fill(context.stream(), static_cast<std::uint32_t*>(at), numbers, 1);
    count(context.stream(), static_cast<std::uint32_t*>(at), numbers, 1, wrong.get());
    context.synchronize();
  }
  Gate gate;
  {
    const MemoryLease first = pool.take(numbers * 4, context.stream());
    fill(context.stream(), static_cast<std::uint32_t*>(first.data()), numbers, 1, &gate);
  }
  const MemoryLease second = pool.take(numbers * 4, other);
  ASSERT_EQ(second.data(), at);
  fill(other, static_cast<std::uint32_t*>(at), numbers, 2);
  gate.open();
  context.synchronize();
  count(other, static_cast<std::uint32_t*>(at), numbers, 2, wrong.get());
  other.synchronize();
  EXPECT_EQ(wrong.value(), 0u);
  EXPECT_EQ(pool.statistics().waits, 1u);
}

TEST_F(RealMemory, AnArenasTilesComeAfterEachOther) {
  const DeviceContext context(devices[0]);
  const Counter wrong;
  BufferPool pool(make_upstream(context));
  Arena arena(pool, context.stream());
  for (std::uint32_t tile = 1; tile <= 20; ++tile) {
    arena.reset();
    for (std::size_t size : {numbers, std::size_t{100}, numbers / 2}) {
      auto* memory = arena.take<std::uint32_t>(size);
      fill(context.stream(), memory, size, tile);
      count(context.stream(), memory, size, tile, wrong.get());
    }
  }
  context.synchronize();
  EXPECT_EQ(wrong.value(), 0u);
  EXPECT_EQ(arena.slabs(), 1u);
}

}  // namespace
}  // namespace tessera::testing

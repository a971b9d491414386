// SPDX-License-Identifier: Apache-2.0
// Contexts and pools of real devices. The devices are made visible in reverse order, so that an ordinal is
// never accidentally the index in the probe.
#include "gpu/memory/malloc_upstream.hpp"

#include <tessera/device/pool.hpp>
#include <tessera/error.hpp>
#include <tessera/memory/buffer_pool.hpp>
#include <tessera/memory/pinned.hpp>
#include <tessera/topology/probe.hpp>

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace tessera {
namespace {

class RealDevices : public ::testing::Test {
 protected:
  /// Called before the first CUDA call of the process.
  static void SetUpTestSuite() {
    unsetenv("TESSERA_SIMULATE");
    const Probe here = probe();
    if (here.absence) why_none = here.absence->message;
    std::string reversed;
    for (const ProbedDevice& device : here.devices) {
      devices.push_back(device.info);
      reversed = to_string(device.info.uuid) + (reversed.empty() ? "" : ",") + reversed;
    }
    if (!devices.empty()) setenv("CUDA_VISIBLE_DEVICES", reversed.c_str(), 1);
  }
  void SetUp() override {
    if (devices.empty()) GTEST_SKIP() << why_none;
  }

  static Ordinal ordinal_of(std::size_t probed) {
    return Ordinal{static_cast<int>(devices.size() - 1 - probed)};
  }
  static DevicePool pool() {
    std::vector<DevicePool::Entry> entries;
    for (std::size_t i = 0; i < devices.size(); ++i)
      entries.push_back(
          {.info = devices[i], .ordinal = ordinal_of(i), .score = 1, .claim_index = static_cast<int>(i)});
    return DevicePool(std::move(entries));
  }

  static inline std::vector<DeviceInfo> devices;
  static inline std::string why_none;
};

/// The current context of this thread; null if there is none.
CUcontext current_context() {
  void* address = nullptr;
  cudaDriverEntryPointQueryResult found{};
  EXPECT_EQ(cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", &address, 12000, cudaEnableDefault, &found),
            cudaSuccess);
  CUcontext context = nullptr;
  EXPECT_EQ(reinterpret_cast<CUresult (*)(CUcontext*)>(address)(&context), CUDA_SUCCESS);
  return context;
}

TEST_F(RealDevices, AreFoundByUuidWhateverTheirOrdinal) {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const DeviceContext context(devices[i]);
    EXPECT_EQ(context.ordinal(), ordinal_of(i));
    cudaDeviceProp properties{};
    ASSERT_EQ(cudaGetDeviceProperties(&properties, static_cast<int>(context.ordinal())), cudaSuccess);
    EXPECT_EQ(properties.multiProcessorCount, devices[i].multiprocessors);
    if (!devices[i].mig()) {
      EXPECT_EQ(std::memcmp(properties.uuid.bytes, devices[i].uuid.bytes.data(), 16), 0);
    }
  }
}

TEST_F(RealDevices, TellTheRestWhenTheyAreOpened) {
  const DeviceContext context(devices[0]);
  const DeviceInfo& info = context.info();
  EXPECT_GE(info.l2_bytes.value_or(0), 1 << 20);
  EXPECT_GE(info.shared_memory_per_block_bytes.value_or(0), 48 << 10);
  EXPECT_GE(info.threads_per_multiprocessor.value_or(0), 1024);
  EXPECT_NE(context.stream().native(), nullptr);
}

TEST_F(RealDevices, BindOnAnyThread) {
  DevicePool all = pool();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const DeviceContext& context = all.context_at(i);
    std::thread([&] {
      context.bind();
      int current = -1;
      EXPECT_EQ(cudaGetDevice(&current), cudaSuccess);
      EXPECT_EQ(Ordinal{current}, context.ordinal());
      void* memory = nullptr;
      EXPECT_EQ(cudaMallocAsync(&memory, 1 << 20, static_cast<cudaStream_t>(context.stream().native())),
                cudaSuccess);
      EXPECT_EQ(cudaFreeAsync(memory, static_cast<cudaStream_t>(context.stream().native())), cudaSuccess);
      EXPECT_NO_THROW(context.synchronize());
    }).join();
  }
}

TEST_F(RealDevices, OpenInParallel) {
  DevicePool all = pool();
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < all.size(); ++i) threads.emplace_back([&all, i] { (void)all.context_at(i); });
  }
  for (const auto& entry : all) EXPECT_EQ(all.context_of(entry.ordinal).ordinal(), entry.ordinal);
}

TEST_F(RealDevices, FreeMemoryIsAskedOfTheDriverAndNothingBecomesCurrent) {
  DevicePool all = pool();
  DeviceContext& context = all.context_at(0);
  constexpr std::int64_t taken = std::int64_t{1} << 30;
  std::thread([&] {
    EXPECT_EQ(current_context(), nullptr);
    const std::int64_t before = context.free_memory_bytes();
    EXPECT_EQ(current_context(), nullptr);
    EXPECT_LE(before, context.info().total_memory_bytes);
    context.bind();
    void* memory = nullptr;
    ASSERT_EQ(cudaMalloc(&memory, taken), cudaSuccess);
    const CUcontext bound = current_context();
    EXPECT_LE(context.free_memory_bytes(), before - taken);
    EXPECT_EQ(current_context(), bound);
    EXPECT_EQ(cudaFree(memory), cudaSuccess);
  }).join();
}

TEST_F(RealDevices, NothingBecomesCurrentWhereThingsAreGivenBack) {
  std::optional<DeviceContext> context(std::in_place, devices[0]);
  std::optional<Stream> stream(std::in_place, *context);
  std::optional<Event> event(std::in_place, *context);
  std::optional<PinnedMemory> pinned(std::in_place, 4096, *context);
  event->record(*stream);
  for (const bool pooled : {true, false}) {
    std::optional<BufferPool> pool(
        std::in_place, pooled ? make_upstream(*context) : testing::make_malloc_upstream(*context));
    MemoryLease kept = pool->take_bytes(4096, *stream);
    {
      MemoryLease recorded = pool->take_bytes(4096, *stream);
      recorded.record_stream(context->stream());
    }
    std::thread([&] {
      EXPECT_EQ(current_context(), nullptr);
      pool->empty_cache();
      EXPECT_EQ(current_context(), nullptr);
      pool.reset();
      kept.reset();
      EXPECT_EQ(current_context(), nullptr);
    }).join();
  }
  std::thread([&] {
    pinned.reset();
    EXPECT_EQ(current_context(), nullptr);
    event.reset();
    EXPECT_EQ(current_context(), nullptr);
    stream.reset();
    EXPECT_EQ(current_context(), nullptr);
    context.reset();
    EXPECT_EQ(current_context(), nullptr);
  }).join();
}

TEST_F(RealDevices, TheOneWithTheMostFreeMemoryChangesWhenMemoryIsTaken) {
  if (devices.size() < 2) GTEST_SKIP() << "there is one device only";
  DevicePool all = pool();
  for (std::size_t i = 0; i < all.size(); ++i) (void)all.context_at(i);
  const Ordinal first = all.most_free_memory();
  std::thread([&] {
    const DeviceContext& context = all.context_of(first);
    context.bind();
    void* memory = nullptr;
    ASSERT_EQ(cudaMalloc(&memory, static_cast<std::size_t>(context.free_memory_bytes() / 2)), cudaSuccess);
    EXPECT_NE(all.most_free_memory(), first);
    EXPECT_EQ(cudaFree(memory), cudaSuccess);
  }).join();
}

TEST_F(RealDevices, OneThatIsNotHereIsNamed) {
  DeviceInfo elsewhere = devices[0];
  elsewhere.uuid.bytes[15] ^= 0xff;
  try {
    const DeviceContext context(elsewhere);
    FAIL() << "it opened";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::job_fault);
    EXPECT_NE(std::string(error.what()).find(to_string(elsewhere.uuid)), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tessera

// SPDX-License-Identifier: Apache-2.0
// Kernels compiled at run time run on every real device.
#include "support/moved_from.hpp"

#include <tessera/device/module_cache.hpp>
#include <tessera/device/pool.hpp>
#include <tessera/error.hpp>
#include <tessera/topology/probe.hpp>

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace tessera {
namespace {

class Modules : public ::testing::Test {
 protected:
  void SetUp() override {
    unsetenv("TESSERA_SIMULATE");
    const Probe here = probe();
    if (here.absence) GTEST_SKIP() << here.absence->message;
    std::vector<DevicePool::Entry> entries;
    for (const ProbedDevice& device : here.devices) {
      const int index = static_cast<int>(entries.size());
      entries.push_back({.info = device.info, .ordinal = Ordinal{index}, .score = 1, .claim_index = index});
    }
    devices_ = DevicePool(std::move(entries));
    if (nvrtc_compiler()->version().empty()) GTEST_SKIP() << "NVRTC is not there";
  }

  DevicePool devices_;
  ModuleCache cache_{{.compiler = nullptr, .directory = std::filesystem::path()}};
  ModuleSource scale_{.name = "scale",
                      .text = R"(#include <cstdint>
extern "C" __global__ void scale(double* x, std::int64_t n, double factor) {
  const std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
  if (i < n) x[i] = factor * x[i];
}
)",
                      .headers = standard_headers(),
                      .options = {"--std=c++20"}};
};

TEST_F(Modules, RunOnEveryDevice) {
  constexpr std::int64_t count = 1000;
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    const DeviceContext& context = devices_.context_at(i);
    context.bind();
    const KernelView scale = cache_.load(scale_, context.info().capability).kernel("scale");
    const auto stream = static_cast<cudaStream_t>(context.stream().native());
    std::vector<double> numbers(count, 1.5);
    void* memory = nullptr;
    ASSERT_EQ(cudaMallocAsync(&memory, count * sizeof(double), stream), cudaSuccess);
    ASSERT_EQ(cudaMemcpyAsync(memory, numbers.data(), count * sizeof(double), cudaMemcpyHostToDevice, stream),
              cudaSuccess);
    launch(scale, {8}, {128}, 0, context.stream(), static_cast<double*>(memory), count, 2.0);
    ASSERT_EQ(cudaMemcpyAsync(numbers.data(), memory, count * sizeof(double), cudaMemcpyDeviceToHost, stream),
              cudaSuccess);
    ASSERT_EQ(cudaFreeAsync(memory, stream), cudaSuccess);
    context.synchronize();
    EXPECT_EQ(numbers, std::vector<double>(count, 3.0)) << "device " << i;
  }
  // Once for each kind of device, not for each device.
  EXPECT_LE(cache_.statistics().compiles, static_cast<std::int64_t>(devices_.size()));
}

/// The driver compiles PTX, as on a device newer than the compiler.
TEST_F(Modules, PtxRunsToo) {
  const DeviceContext& context = devices_.context_at(0);
  context.bind();
  const ComputeCapability capability = context.info().capability;
  const CompileOutcome outcome = nvrtc_compiler()->compile(
      scale_, "compute_" + std::to_string(10 * capability.major + capability.minor));
  ASSERT_TRUE(std::holds_alternative<CompiledModule>(outcome));
  const Module module("scale", std::get<CompiledModule>(outcome));
  EXPECT_NE(module.kernel("scale").native(), nullptr);
}

TEST_F(Modules, ThatWereMovedFromAreRefused) {
  const DeviceContext& context = devices_.context_at(0);
  context.bind();
  const auto& compiled = std::get<CompiledModule>(cache_.compile(scale_, context.info().capability));
  Module gone("scale", compiled);
  Module kept = testing::moved_out_of(gone);
  testing::expect_moved_from("Module", {[&] { (void)gone.kernel("scale"); }});
  testing::expect_moves(std::move(kept), Module("scale", compiled),
                        [](const Module& module) { EXPECT_NE(module.kernel("scale").native(), nullptr); });
}

/// On a device a null stream would be CUDA's default stream.
TEST_F(Modules, HaveNoStreamThatWasMovedFrom) {
  const DeviceContext& context = devices_.context_at(0);
  Stream gone(context);
  Stream kept = testing::moved_out_of(gone);
  const KernelView none;
  testing::expect_moved_from("Stream",
                             {[&] { gone.synchronize(); }, [&] { launch(none, {1}, {1}, 0, gone); }});
  const auto alive = [](const Stream& stream) {
    EXPECT_NE(stream.native(), nullptr);
    stream.synchronize();
  };
  testing::expect_moves(std::move(kept), Stream(context), alive);
  Event over(context);
  Event event = testing::moved_out_of(over);
  testing::expect_moved_from("Event", {[&] { over.record(context.stream()); }, [&] { over.synchronize(); }});
  testing::expect_moves(std::move(event), Event(context), [&](Event& its) {
    its.record(context.stream());
    its.synchronize();
    EXPECT_TRUE(its.ready());
  });
}

TEST_F(Modules, RefusalsSayWhatIsWrong) {
  const DeviceContext& context = devices_.context_at(0);
  context.bind();
  const auto message_of = [](auto&& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::job_fault);
      return error.what();
    }
    return "nothing was thrown";
  };
  const Module& module = cache_.load(scale_, context.info().capability);
  EXPECT_NE(message_of([&] { (void)module.kernel("shrink"); }).find("has no kernel \"shrink\""),
            std::string::npos);
  const std::string noise = message_of([] { (void)Module("noise", {"sm_90", "no machine code", ""}); });
  EXPECT_NE(noise.find("module \"noise\" (sm_90) cannot be loaded: cuLibrary"), std::string::npos) << noise;
  double* nothing = nullptr;
  const KernelView scale = module.kernel("scale");
  EXPECT_NE(message_of([&] {
              launch(scale, {1}, {4096}, 0, context.stream(), nothing, std::int64_t{0}, 1.0);
            }).find("cuLaunchKernel"),
            std::string::npos);
  // The device still works.
  launch(scale, {1}, {32}, 0, context.stream(), nothing, std::int64_t{0}, 1.0);
  EXPECT_NO_THROW(context.synchronize());
}

}  // namespace
}  // namespace tessera

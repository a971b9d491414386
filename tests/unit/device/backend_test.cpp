// SPDX-License-Identifier: Apache-2.0
#include <tessera/device/backend.hpp>
#include <tessera/device/pool.hpp>
#include <tessera/error.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <stdexcept>
#include <thread>
#include <vector>

#include "fake_compiler.hpp"
#include "support/errors.hpp"

namespace tessera {
namespace {

using testing::FakeCompiler;

DeviceInfo simulated(std::uint8_t id) {
  DeviceInfo info;
  info.uuid.bytes[15] = id;
  info.name = "Simulated";
  info.capability = {9, 0};
  info.simulated = true;
  return info;
}

std::shared_ptr<ModuleCache> no_disk(std::shared_ptr<KernelCompiler> compiler) {
  return std::make_shared<ModuleCache>(
      ModuleCacheOptions{.compiler = std::move(compiler), .directory = std::filesystem::path()});
}

/// Runs `work` on a new thread, without a bound device.
template <class Work>
void on_a_new_thread(const Work& work) {
  std::thread(work).join();
}

/// The code and message of the `Error` that `call` throws.
template <class Call>
std::pair<ErrorCode, std::string> error_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {ErrorCode::usage, "nothing was thrown"};
}

TEST(Backend, IsTheDeviceOfTheCallingThread) {
  const auto modules = no_disk(nullptr);
  const DeviceContext first(simulated(1), modules);
  const DeviceContext second(simulated(2), modules);
  on_a_new_thread([&] {
    first.bind();
    on_a_new_thread([&] {
      second.bind();
      EXPECT_EQ(probe_backend("test").device, &second);
    });
    const BackendContext backend = probe_backend("test");
    EXPECT_EQ(backend.device, &first);
    EXPECT_EQ(backend.capability, (ComputeCapability{9, 0}));
    EXPECT_EQ(backend.stream.native(), first.stream().native());
    EXPECT_EQ(backend.modules, modules.get());
    EXPECT_EQ(backend.arena, nullptr);
    second.bind();
    EXPECT_EQ(probe_backend("test").device, &second);
  });
}

TEST(Backend, WithoutADeviceTheErrorNamesTheLabel) {
  on_a_new_thread([] {
    const auto [code, message] = error_of([] { (void)probe_backend("fit rows"); });
    EXPECT_EQ(code, ErrorCode::device_absent);
    EXPECT_TRUE(contains(message, "backend \"fit rows\" needs a device bound to this thread"));
  });
}

TEST(Backend, ADeviceThatIsClosedIsNotBoundAnyMore) {
  on_a_new_thread([] {
    { DeviceContext(simulated(1), no_disk(nullptr)).bind(); }
    EXPECT_EQ(DeviceContext::bound_to_this_thread(), nullptr);
    EXPECT_EQ(error_of([] { (void)probe_backend("test"); }).first, ErrorCode::device_absent);
  });
}

TEST(Backend, FollowsADeviceContextThatIsMoved) {
  on_a_new_thread([] {
    DeviceContext before(simulated(1), no_disk(nullptr));
    before.bind();
    const DeviceContext after(std::move(before));
    EXPECT_EQ(probe_backend("test").device, &after);
  });
}

TEST(Backend, IsBuiltOnceForEachLabelAndDevice) {
  const auto modules = no_disk(nullptr);
  const DeviceContext first(simulated(1), modules);
  const DeviceContext second(simulated(2), modules);
  int builds = 0;
  const auto build = [&](const BackendContext& context) {
    ++builds;
    return to_string(context.device->info().uuid);
  };
  on_a_new_thread([&] {
    for (int i = 0; i < 3; ++i) {
      for (const DeviceContext* device : {&first, &second}) {
        device->bind();
        const auto [context, built] = probe_backend_with_compile("a", build);
        EXPECT_EQ(context.device, device);
        EXPECT_EQ(*built, to_string(device->info().uuid));
      }
    }
    EXPECT_EQ(builds, 2);
    (void)probe_backend_with_compile("b", build);
    EXPECT_EQ(builds, 3);
  });
}

TEST(Backend, IsBuiltOnceByManyThreads) {
  constexpr int threads = 8;
  const DeviceContext device(simulated(1), no_disk(nullptr));
  std::atomic<int> asking = 0;
  std::atomic<int> builds = 0;
  // Takes until all threads have started, and then long enough for another build to begin if it could.
  const auto build = [&](const BackendContext&) {
    const int mine = ++builds;
    while (asking < threads) std::this_thread::yield();
    for (int i = 0; i < 10'000 && builds == mine; ++i) std::this_thread::yield();
    return mine;
  };
  std::vector<std::shared_ptr<const int>> built(threads);
  {
    std::vector<std::jthread> all;
    for (auto& mine : built)
      all.emplace_back([&] {
        device.bind();
        ++asking;
        mine = probe_backend_with_compile("test", build).built;
      });
  }
  EXPECT_EQ(builds, 1);
  for (const auto& other : built) EXPECT_EQ(other, built[0]);
}

TEST(Backend, AFailedBuildIsKeptWithItsReason) {
  const DeviceContext device(simulated(1), no_disk(nullptr));
  int builds = 0;
  on_a_new_thread([&] {
    device.bind();
    const auto probe = [&] {
      (void)probe_backend_with_compile("fit rows", [&](const BackendContext&) -> int {
        if (++builds == 1) throw std::runtime_error("no compiler");
        return 1;
      });
    };
    const auto [code, message] = error_of(probe);
    EXPECT_EQ(code, ErrorCode::job_fault);
    EXPECT_EQ(message, "backend \"fit rows\" cannot be built on device " + to_string(device.info().uuid) +
                           " (Simulated): no compiler");
    EXPECT_EQ(error_of(probe).second, message);
    EXPECT_EQ(builds, 1);
    // Only this backend on this device has failed.
    EXPECT_EQ(probe_backend("fit rows").device, &device);
    EXPECT_EQ(*probe_backend_with_compile("other", [](const BackendContext&) { return 7; }).built, 7);
  });
}

TEST(Backend, ALabelIsOfOneType) {
  const DeviceContext device(simulated(1), no_disk(nullptr));
  on_a_new_thread([&] {
    device.bind();
    (void)probe_backend_with_compile("test", [](const BackendContext&) { return 1; });
    const auto [code, message] = error_of([] {
      (void)probe_backend_with_compile("test", [](const BackendContext&) { return std::string("1"); });
    });
    EXPECT_EQ(code, ErrorCode::usage);
    EXPECT_NE(message.find("backend \"test\" was already built as another type"), std::string::npos)
        << message;
  });
}

TEST(Backend, CompilesWithTheModulesOfItsDevice) {
  const auto compiler = std::make_shared<FakeCompiler>();
  const DeviceContext device(simulated(1), no_disk(compiler));
  on_a_new_thread([&] {
    device.bind();
    const ModuleSource broken{.name = "rows", .text = "broken", .headers = {}, .options = {}};
    const auto [code, message] = error_of([&] {
      (void)probe_backend_with_compile("fit rows", [&](const BackendContext& context) {
        return context.modules->load(broken, context.capability).kernel("rows");
      });
    });
    EXPECT_EQ(code, ErrorCode::job_fault);
    EXPECT_TRUE(contains(message, "\"rows\" cannot be compiled for sm_90: broken(1): error: it is broken"));
    EXPECT_EQ(compiler->compiles, 1);
  });
}

}  // namespace
}  // namespace tessera

// SPDX-License-Identifier: Apache-2.0
#include "job/device_threads.hpp"

#include <gtest/gtest.h>

#include <array>
#include <latch>
#include <set>
#include <thread>
#include <vector>

namespace tessera {
namespace {

TEST(DeviceThreads, EachDeviceHasItsOwnThreadFromRunToRun) {
  constexpr std::size_t devices = 9;
  DeviceThreads threads(devices);
  const std::vector<int> all = {8, 0, 3, 1, 2, 7, 6, 5, 4};
  std::vector<std::thread::id> first(devices);
  threads.run(all, [&](int device) { first[static_cast<std::size_t>(device)] = std::this_thread::get_id(); });
  EXPECT_EQ(std::set(first.begin(), first.end()).size(), devices);
  EXPECT_FALSE(std::set(first.begin(), first.end()).contains(std::this_thread::get_id()));

  std::vector<std::thread::id> again(devices);
  threads.run(all, [&](int device) { again[static_cast<std::size_t>(device)] = std::this_thread::get_id(); });
  EXPECT_EQ(first, again);
}

TEST(DeviceThreads, AllOfARunWorkAtOnce) {
  for (const std::ptrdiff_t devices : {1, 2, 3, 8}) {
    DeviceThreads threads(static_cast<std::size_t>(devices));
    std::vector<int> all;
    for (int i = 0; i < devices; ++i) all.push_back(i);
    std::latch everyone(devices);
    threads.run(all, [&](int) { everyone.arrive_and_wait(); });
  }
}

TEST(DeviceThreads, ARunIsOverWhenAllItsWorkIsAndCallsNoOtherDevice) {
  DeviceThreads threads(4);
  const std::vector<std::vector<int>> runs = {{2}, {0, 3}, {}, {3, 1, 0}, {0, 1, 2, 3}, {1}};
  for (int repetition = 0; repetition < 500; ++repetition) {
    for (const auto& run : runs) {
      // Plain integers: that a run has ended must make them visible.
      std::array<int, 4> calls{};
      threads.run(run, [&](int device) { ++calls[static_cast<std::size_t>(device)]; });
      std::array<int, 4> wanted{};
      for (const int device : run) wanted[static_cast<std::size_t>(device)] = 1;
      ASSERT_EQ(calls, wanted);
    }
  }
}

TEST(DeviceThreads, ThreadsThatNeverRanAreNotStarted) {
  DeviceThreads threads(100'000);
  int called = -1;
  threads.run(std::array{99'999}, [&](int device) { called = device; });
  EXPECT_EQ(called, 99'999);
}

}  // namespace
}  // namespace tessera

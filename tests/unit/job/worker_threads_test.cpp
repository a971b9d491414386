// SPDX-License-Identifier: Apache-2.0
#include "job/threads/worker_threads.hpp"

#include <gtest/gtest.h>

#include <pthread.h>

#include <array>
#include <atomic>
#include <latch>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace tessera {
namespace {

TEST(WorkerThreads, EachDeviceHasItsOwnThreadFromRunToRun) {
  constexpr std::size_t devices = 9;
  WorkerThreads threads(devices, ParkedThread::host_patience);
  const std::vector<int> all = {8, 0, 3, 1, 2, 7, 6, 5, 4};
  std::vector<std::thread::id> first(devices);
  threads.run(all, [&](int device) { first[static_cast<std::size_t>(device)] = std::this_thread::get_id(); });
  EXPECT_EQ(std::set(first.begin(), first.end()).size(), devices);
  EXPECT_FALSE(std::set(first.begin(), first.end()).contains(std::this_thread::get_id()));

  std::vector<std::thread::id> again(devices);
  threads.run(all, [&](int device) { again[static_cast<std::size_t>(device)] = std::this_thread::get_id(); });
  EXPECT_EQ(first, again);
}

TEST(WorkerThreads, AllOfARunWorkAtOnce) {
  for (const std::ptrdiff_t devices : {1, 2, 3, 8}) {
    WorkerThreads threads(static_cast<std::size_t>(devices), ParkedThread::host_patience);
    std::vector<int> all;
    for (int i = 0; i < devices; ++i) all.push_back(i);
    std::latch everyone(devices);
    threads.run(all, [&](int) { everyone.arrive_and_wait(); });
  }
}

TEST(WorkerThreads, ARunIsOverWhenAllItsWorkIsAndCallsNoOtherDevice) {
  WorkerThreads threads(4, ParkedThread::host_patience);
  const std::vector<std::vector<int>> runs = {{2}, {0, 3}, {}, {3, 1, 0}, {0, 1, 2, 3}, {1}};
  for (int repetition = 0; repetition < 500; ++repetition) {
    for (const auto& run : runs) {
      // Plain integers: the end of a run must make them visible.
      std::array<int, 4> calls{};
      threads.run(run, [&](int device) { ++calls[static_cast<std::size_t>(device)]; });
      std::array<int, 4> wanted{};
      for (const int device : run) wanted[static_cast<std::size_t>(device)] = 1;
      ASSERT_EQ(calls, wanted);
    }
  }
}

TEST(WorkerThreads, TheCallingThreadLooksAroundWhileItWaits) {
  WorkerThreads threads(2, ParkedThread::host_patience);
  std::latch looked(1);
  bool first = true;
  const auto caller = std::this_thread::get_id();
  // The work ends once all workers were observed.
  threads.run(
      std::array{0, 1}, [&](int) { looked.wait(); },
      [&] {
        EXPECT_EQ(std::this_thread::get_id(), caller);
        if (std::exchange(first, false)) looked.count_down();
      });
  EXPECT_FALSE(first);
}

TEST(WorkerThreads, WhatIsThrownMeanwhileComesWhenAllWorkIsDone) {
  WorkerThreads threads(1, ParkedThread::host_patience);
  std::latch looked(1);
  bool done = false;
  EXPECT_THROW(threads.run(
                   std::array{0}, [&](int) { looked.wait(), done = true; },
                   [&] {
                     looked.count_down();
                     throw std::runtime_error("a look");
                   }),
               std::runtime_error);
  EXPECT_TRUE(done);
}

TEST(WorkerThreads, AThreadThatItsWorkEndsIsReplaced) {
  WorkerThreads threads(3, ParkedThread::host_patience);
  for (int repetition = 0; repetition < 20; ++repetition) {
    std::atomic<int> calls = 0;
    const auto work = [&](int worker) {
      ++calls;
      if (worker == repetition % 3) pthread_exit(nullptr);
    };
    threads.run(std::array{2, 0, 1}, work);
    EXPECT_EQ(calls, 3);
  }
}

TEST(WorkerThreads, ThreadsThatNeverRanAreNotStarted) {
  WorkerThreads threads(100'000, ParkedThread::host_patience);
  int called = -1;
  threads.run(std::array{99'999}, [&](int device) { called = device; });
  EXPECT_EQ(called, 99'999);
}

}  // namespace
}  // namespace tessera

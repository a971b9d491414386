// SPDX-License-Identifier: Apache-2.0
#include "device/affinity.hpp"

#include "support/cpus_of.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <set>
#include <string>
#include <thread>

namespace {

using tessera::testing::cpus_of;

struct Bound {
  bool done = false;
  std::set<int> cpus;
};

/// Binds a separate thread, so that the test's binding does not change, to each of `cpusets` in turn.
template <class... Cpusets>
Bound bind_a_thread(const Cpusets&... cpusets) {
  Bound bound;
  std::thread([&] {
    ((bound.done = tessera::detail::bind_thread_near(cpusets)), ...);
    bound.cpus = cpus_of(0);
  }).join();
  return bound;
}

const std::set<int> allowed = cpus_of(getpid());

TEST(BindThreadNear, EveryAllowedCpuAloneIsBoundAndReadBack) {
  for (const int cpu : allowed) {
    const Bound bound = bind_a_thread(std::to_string(cpu));
    EXPECT_TRUE(bound.done) << cpu;
    EXPECT_EQ(bound.cpus, std::set<int>{cpu});
  }
}

TEST(BindThreadNear, TakesOnlyTheAllowedPartOfAList) {
  const int first = *allowed.begin();
  const Bound bound = bind_a_thread(std::to_string(first) + ",5000-5003");
  EXPECT_TRUE(bound.done);
  EXPECT_EQ(bound.cpus, std::set<int>{first});
}

TEST(BindThreadNear, StaysOnTheAllowedCpusIfNoneIsNear) {
  const Bound bound = bind_a_thread(std::string("5000-5003"));
  EXPECT_TRUE(bound.done);
  EXPECT_EQ(bound.cpus, allowed);
}

TEST(BindThreadNear, AnEarlierBindingOfTheThreadDoesNotNarrowTheNext) {
  if (allowed.size() < 2) GTEST_SKIP() << "this process may use one CPU only";
  const int first = *allowed.begin();
  const int last = *allowed.rbegin();
  const Bound bound = bind_a_thread(std::to_string(first), std::to_string(last));
  EXPECT_TRUE(bound.done);
  EXPECT_EQ(bound.cpus, std::set<int>{last});
}

TEST(BindThreadNear, AnEmptyListBindsNothing) {
  const Bound bound = bind_a_thread(std::string());
  EXPECT_TRUE(bound.done);
  EXPECT_EQ(bound.cpus, allowed);
}

TEST(BindThreadNear, AnUnreadableListIsRefused) {
  const Bound bound = bind_a_thread(std::string("near the window"));
  EXPECT_FALSE(bound.done);
  EXPECT_EQ(bound.cpus, allowed);
}

}  // namespace

// SPDX-License-Identifier: Apache-2.0
#include <tessera/device/context.hpp>
#include <tessera/error.hpp>
#include <tessera/memory/pinned.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

namespace tessera {
namespace {

DeviceContext simulated_near(int numa_node) {
  DeviceInfo info;
  info.simulated = true;
  info.numa_node = numa_node;
  return DeviceContext(info);
}

TEST(PinnedBuffer, OfASimulatedDeviceIsPlainMemoryAndZero) {
  const DeviceContext context = simulated_near(-1);
  PinnedBuffer<int> buffer(100'000, context);
  ASSERT_EQ(buffer.size(), 100'000u);
  EXPECT_EQ(std::ranges::count(buffer, 0), 100'000);
  buffer[99'999] = 7;
  EXPECT_EQ(buffer.span().back(), 7);
  EXPECT_FALSE(buffer.memory().pinned());
  EXPECT_FALSE(buffer.memory().near_device()) << "nobody knows where that is";
}

TEST(PinnedBuffer, IsNotOnANodeThatThereIsNot) {
  const PinnedBuffer<char> buffer(1 << 20, simulated_near(1000));
  EXPECT_FALSE(buffer.memory().near_device());
  EXPECT_EQ(buffer.size(), 1u << 20);
}

TEST(PinnedBuffer, IsOnTheNodeThatWasAskedFor) {
  const PinnedBuffer<char> buffer(3 << 20, simulated_near(0));
  if (!buffer.memory().near_device()) GTEST_SKIP() << "the system does not put memory on NUMA node 0";
  EXPECT_TRUE(PinnedBuffer<char>(1, simulated_near(0)).memory().near_device());
}

TEST(PinnedBuffer, MovesAndMayBeEmpty) {
  const DeviceContext context = simulated_near(-1);
  const PinnedBuffer<double> none(0, context);
  EXPECT_EQ(none.data(), nullptr);
  PinnedBuffer<double> first(1000, context);
  double* at = first.data();
  PinnedBuffer<double> second = std::move(first);
  EXPECT_EQ(first.size(), 0u);  // NOLINT(bugprone-use-after-move): that is the question
  EXPECT_EQ(second.data(), at);
  second = PinnedBuffer<double>(10, context);
  EXPECT_EQ(second.size(), 10u);
}

TEST(PinnedBuffer, SaysWhenThereIsNotSoMuch) {
  EXPECT_THROW(PinnedBuffer<double>(std::numeric_limits<std::size_t>::max() / 4, simulated_near(-1)), Error);
}

}  // namespace
}  // namespace tessera

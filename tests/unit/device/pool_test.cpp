// SPDX-License-Identifier: Apache-2.0
#include "support/errors.hpp"

#include <tessera/device/pool.hpp>
#include <tessera/error.hpp>

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <thread>

namespace tessera {
namespace {

constexpr std::int64_t gib = std::int64_t{1} << 30;

DevicePool::Entry entry(int claim_index, std::uint64_t score, std::int64_t free_gib) {
  DevicePool::Entry entry;
  entry.info.uuid.bytes[0] = static_cast<std::uint8_t>(claim_index);
  entry.info.name = "device " + std::to_string(claim_index);
  entry.info.simulated = true;
  entry.info.total_memory_bytes = 16 * gib;
  entry.info.free_memory_bytes = free_gib * gib;
  entry.ordinal = Ordinal{claim_index};
  entry.score = score;
  entry.claim_index = claim_index;
  return entry;
}

DevicePool three() {
  return DevicePool({entry(0, 50, 12), entry(1, 100, 4), entry(2, 50, 14)});
}

template <class Call>
std::string refusal(Call&& call) {
  return error_of(ErrorCode::usage, call);
}

TEST(DevicePool, OrdersByScoreAndThenClaim) {
  const DevicePool pool = three();
  EXPECT_EQ(pool.size(), 3u);
  EXPECT_FALSE(pool.empty());
  EXPECT_EQ(pool.ordinals(), (std::vector{Ordinal{1}, Ordinal{0}, Ordinal{2}}));
  std::vector<std::uint64_t> scores;
  for (const auto& e : pool) scores.push_back(e.score);
  EXPECT_EQ(scores, (std::vector<std::uint64_t>{100, 50, 50}));
}

TEST(DevicePool, FindsDevicesAndContextsByIndexAndOrdinal) {
  DevicePool pool = three();
  EXPECT_EQ(pool.device_at(0).name, "device 1");
  EXPECT_EQ(pool.device_at(2).name, "device 2");
  EXPECT_EQ(pool.context_at(1).info().name, "device 0");
  EXPECT_EQ(pool.context_of(Ordinal{2}).info().name, "device 2");
  EXPECT_EQ(&pool.context_of(Ordinal{2}), &pool.context_at(2));
}

TEST(DevicePool, BudgetIsTheLesserOfFreeAndHalf) {
  const DevicePool pool = three();
  EXPECT_EQ(pool.memory_budget_bytes(Ordinal{0}), 8 * gib);
  EXPECT_EQ(pool.memory_budget_bytes(Ordinal{1}), 4 * gib);
}

TEST(DevicePool, MostFreeMemoryIsNotTheBestScore) {
  DevicePool pool = three();
  EXPECT_EQ(pool.most_free_memory(), Ordinal{2});
  (void)pool.context_at(2);  // an open device is found too
  EXPECT_EQ(pool.most_free_memory(), Ordinal{2});
}

TEST(DevicePool, MostFreeMemoryTiesGoToTheHigherScore) {
  DevicePool pool({entry(0, 10, 8), entry(1, 20, 8)});
  EXPECT_EQ(pool.most_free_memory(), Ordinal{1});
}

TEST(DevicePool, AnEmptyPoolSaysSo) {
  DevicePool pool;
  EXPECT_TRUE(pool.empty());
  EXPECT_TRUE(pool.ordinals().empty());
  const std::string tail = "but the pool is empty (this rank drives no device)";
  EXPECT_EQ(refusal([&] { (void)pool.next_device(); }),
            "device pool: the next device was requested, " + tail);
  EXPECT_EQ(refusal([&] { (void)pool.most_free_memory(); }),
            "device pool: the device with the most free memory was requested, " + tail);
  EXPECT_EQ(refusal([&] { (void)pool.device_at(0); }), "device pool: index 0 was requested, " + tail);
  EXPECT_EQ(refusal([&] { (void)pool.context_of(Ordinal{0}); }),
            "device pool: ordinal 0 was requested, " + tail);
}

TEST(DevicePool, NamesWhatWasAskedAndWhatThereIs) {
  DevicePool pool = three();
  const std::string tail = "but the pool has 3 devices, ordinals 1, 0, 2 (indices from 0)";
  EXPECT_EQ(refusal([&] { (void)pool.context_at(3); }), "device pool: index 3 was requested, " + tail);
  EXPECT_EQ(refusal([&] { (void)pool.device_at(7); }), "device pool: index 7 was requested, " + tail);
  EXPECT_EQ(refusal([&] { (void)pool.context_of(Ordinal{9}); }),
            "device pool: ordinal 9 was requested, " + tail);
  EXPECT_EQ(refusal([&] { (void)pool.memory_budget_bytes(Ordinal{-1}); }),
            "device pool: ordinal -1 was requested, " + tail);
}

TEST(DevicePool, NextDeviceTakesTurns) {
  DevicePool pool = three();
  for (int round = 0; round < 2; ++round) {
    for (const int expected : {1, 0, 2}) EXPECT_EQ(pool.next_device(), Ordinal{expected});
  }
}

TEST(DevicePool, WorkGoesToDevicesThatWereNotLeftOut) {
  DevicePool pool = three();
  pool.leave_out(1);
  for (int round = 0; round < 2; ++round) {
    for (const int expected : {0, 2}) EXPECT_EQ(pool.next_device(), Ordinal{expected});
  }
  pool.leave_out(2);
  EXPECT_EQ(pool.most_free_memory(), Ordinal{0});
  pool.leave_out(0);
  EXPECT_EQ(
      refusal([&] { (void)pool.next_device(); }),
      "device pool: the next device was requested, but the pool has only the host and excluded devices");
  EXPECT_EQ(pool.context_of(Ordinal{0}).info().name, "device 0") << "it is there";
}

TEST(DevicePool, NextDeviceIsFairBetweenThreads) {
  DevicePool pool = three();
  constexpr int turns_of_a_thread = 3000;
  std::array<std::array<int, 3>, 4> taken{};
  {
    std::vector<std::jthread> threads;
    for (auto& mine : taken) {
      threads.emplace_back([&pool, &mine] {
        for (int i = 0; i < turns_of_a_thread; ++i) ++mine[static_cast<std::size_t>(pool.next_device())];
      });
    }
  }
  for (std::size_t device = 0; device < 3; ++device) {
    int total = 0;
    for (const auto& mine : taken) total += mine[device];
    EXPECT_EQ(total, turns_of_a_thread * 4 / 3) << "device " << device;
  }
}

TEST(DevicePool, ThreadsThatOpenOneDeviceGetOneContext) {
  DevicePool pool = three();
  std::array<DeviceContext*, 8> seen{};
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < seen.size(); ++i)
      threads.emplace_back([&pool, &seen, i] { seen[i] = &pool.context_at(i % 2); });
  }
  EXPECT_EQ(std::set<DeviceContext*>(seen.begin(), seen.end()).size(), 2u);
}

TEST(DevicePool, MovesWithItsContexts) {
  DevicePool pool = three();
  const DeviceContext* context = &pool.context_at(0);
  DevicePool moved = std::move(pool);
  EXPECT_EQ(&moved.context_at(0), context);
  moved = DevicePool();
  EXPECT_TRUE(moved.empty());
}

TEST(DeviceContext, ASimulatedDeviceOpensWithoutADriver) {
  DeviceContext context(entry(3, 1, 5).info);
  EXPECT_EQ(context.ordinal(), Ordinal{-1});
  EXPECT_EQ(context.stream().native(), nullptr);
  EXPECT_EQ(context.free_memory_bytes(), 5 * gib);
  EXPECT_NO_THROW(context.bind());
  EXPECT_NO_THROW(context.synchronize());
}

TEST(DeviceContext, ADeviceThatIsNotThereIsNamed) {
  DeviceInfo nowhere;
  nowhere.uuid.bytes.fill(0xab);
  nowhere.name = "a device of another machine";
  const std::string message = error_of(ErrorCode::job_fault, [&] { const DeviceContext context(nowhere); });
  EXPECT_TRUE(
      message.starts_with("device GPU-abababab-abab-abab-abab-abababababab (a device of another "
                          "machine) cannot be opened: "))
      << message;
}

}  // namespace
}  // namespace tessera

// SPDX-License-Identifier: Apache-2.0
// The serial jobs of one process share locks, and take turns.
#include "topology/claim/process_claim.hpp"
#include "support/errors.hpp"
#include "temporary_folder.hpp"

#include <tessera/error.hpp>
#include <tessera/topology/claim.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::detail {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t memory_bytes = 1000;

class ProcessClaims : public ::testing::Test {
 protected:
  void SetUp() override { setenv("TESSERA_LOCK_DIR", folder_.path().c_str(), 1); }
  void TearDown() override { unsetenv("TESSERA_LOCK_DIR"); }

  static Uuid device(int number) {
    Uuid uuid;
    uuid.bytes[0] = static_cast<std::uint8_t>(number);
    return uuid;
  }
  /// The probe of a process with these devices; a job may use half of their memory.
  static Probe sees(const std::vector<int>& numbers, std::int64_t free_bytes = memory_bytes) {
    Probe probe;
    probe.host.hostname = "node0";
    probe.host.boot_id = "boot";
    for (const int number : numbers) {
      ProbedDevice seen;
      seen.info.uuid = device(number);
      seen.info.total_memory_bytes = memory_bytes;
      seen.info.free_memory_bytes = free_bytes;
      probe.devices.push_back(seen);
    }
    if (numbers.empty()) probe.absence = Absence{Absence::Reason::no_device, "none"};
    return probe;
  }
  static Claim claimed(const std::vector<int>& numbers, bool allow_sharing = false) {
    return claim(mpi::Communicator::serial(), sees(numbers), allow_sharing);
  }
  static std::string lock_of(int number) { return to_string(device(number)); }

  std::vector<DeviceUser> users(int number) { return ClaimLock(folder_).users_of(lock_of(number)); }
  /// A lock as held by another process.
  std::shared_ptr<const void> drive(int number, bool shared) {
    const DeviceUser user{shared, 300, 1, "other"};
    const ReservedSlot reserved = ClaimLock(folder_).reserve(lock_of(number), user);
    return take_slot(folder_, lock_of(number), reserved.slot, user);
  }

  TemporaryFolder folder_;
};

TEST_F(ProcessClaims, ShareOneLockUntilTheLastIsGone) {
  Claim one = claimed({1, 2});
  Claim two = claimed({1, 2});
  ASSERT_EQ(one.devices.size(), 2U);
  ASSERT_EQ(two.devices.size(), 2U);
  EXPECT_EQ(two.unguarded, "");
  EXPECT_EQ(two.devices[0].sharers, 1);
  EXPECT_TRUE(two.turns->is_shared());
  EXPECT_EQ(users(1).size(), 1U);
  one = {};
  EXPECT_EQ(users(1).size(), 1U);
  EXPECT_FALSE(two.turns->is_shared());
  two = {};
  EXPECT_TRUE(users(1).empty());
}

TEST_F(ProcessClaims, MayHaveDifferentDevices) {
  const Claim one = claimed({1});
  const Claim two = claimed({1, 2});
  const Claim three = claimed({2});
  EXPECT_EQ(two.devices.size(), 2U);
  EXPECT_EQ(three.devices.size(), 1U);
  EXPECT_EQ(users(2).size(), 1U);
}

TEST_F(ProcessClaims, HaveTheMemoryThatWasFreeBeforeTheFirst) {
  const Claim one = claimed({1});
  const Claim two = claim(mpi::Communicator::serial(), sees({1}, 10), false);
  EXPECT_EQ(two.devices[0].memory_budget_bytes(), 500);
}

TEST_F(ProcessClaims, AreOneJobToOthers) {
  const Claim one = claimed({1}, true);
  EXPECT_TRUE(users(1)[0].shared);
  {
    const auto other = drive(1, true);
    EXPECT_EQ(claimed({1}, false).absence->reason, Absence::Reason::driven) << "the other one shares it";
    const Claim two = claimed({1}, true);
    ASSERT_EQ(two.devices.size(), 1U);
    EXPECT_EQ(two.devices[0].sharers_elsewhere, 1);
    EXPECT_EQ(two.devices[0].reserved_elsewhere_bytes, 300);
  }
  const Claim two = claimed({1}, false);
  ASSERT_EQ(users(1).size(), 1U);
  EXPECT_FALSE(users(1)[0].shared);
  EXPECT_EQ(users(1)[0].budget_bytes, 500);
}

TEST_F(ProcessClaims, AreNotThoseOfOtherJobs) {
  const auto other = drive(1, false);
  const Claim none = claimed({1});
  EXPECT_TRUE(none.devices.empty());
  EXPECT_EQ(none.turns, nullptr);
}

TEST_F(ProcessClaims, TakeNoFileWithoutADevice) {
  const fs::path missing = folder_ / "missing";
  setenv("TESSERA_LOCK_DIR", missing.c_str(), 1);
  EXPECT_TRUE(claimed({}).absence.has_value());
  EXPECT_FALSE(fs::exists(missing));
}

/// Begins a turn on a new thread, since a thread does not wait for itself.
void begin(ProcessClaim& turns, FunctionRef<void()> between) {
  std::exception_ptr thrown;
  std::thread([&] {
    try {
      turns.begin_turn(between);
    } catch (...) {
      thrown = std::current_exception();
    }
  }).join();
  if (thrown) std::rethrow_exception(thrown);
}

void not_called() {
  ADD_FAILURE() << "it waits";
}

TEST_F(ProcessClaims, TakeTurns) {
  const Claim one = claimed({1, 2});
  const Claim two = claimed({2, 3});
  const Claim elsewhere = claimed({4});
  begin(*one.turns, not_called);
  begin(*elsewhere.turns, not_called);
  int looks = 0;
  begin(*two.turns, [&] {
    EXPECT_FALSE(two.turns->has_turn());
    if (++looks == 3) one.turns->end_turn(false);
  });
  EXPECT_EQ(looks, 3);
  EXPECT_TRUE(two.turns->has_turn());
  EXPECT_FALSE(one.turns->has_turn());
}

TEST_F(ProcessClaims, TakeTurnsInTheOrderInWhichTheyAsk) {
  const Claim first = claimed({1});
  const Claim second = claimed({1, 2});
  const Claim third = claimed({2});
  begin(*first.turns, not_called);
  std::atomic<bool> had_turn = false;
  std::thread last;
  begin(*second.turns, [&] {
    if (last.joinable()) return;
    // Device 2 is free, but the second job waits for it, and has waited longer.
    last = std::thread([&] {
      third.turns->begin_turn([&] {
        EXPECT_FALSE(third.turns->has_turn());
        first.turns->end_turn(false);
        if (had_turn) second.turns->end_turn(false);
      });
      EXPECT_TRUE(had_turn);
      first.turns->end_turn(false);
    });
  });
  had_turn = true;
  last.join();
  EXPECT_TRUE(third.turns->has_turn());
}

TEST_F(ProcessClaims, ACancelledOneLeavesTheQueue) {
  const Claim one = claimed({1});
  const Claim two = claimed({1});
  const Claim three = claimed({1});
  begin(*one.turns, not_called);
  EXPECT_THROW(begin(*two.turns, [] { throw std::runtime_error("cancelled"); }), std::runtime_error);
  one.turns->end_turn(false);
  begin(*three.turns, not_called);
}

TEST_F(ProcessClaims, TheEndOfAJobEndsItsTurn) {
  Claim one = claimed({1});
  const Claim two = claimed({1});
  begin(*one.turns, not_called);
  bool has_waited = false;
  begin(*two.turns, [&] {
    has_waited = true;
    one = {};
  });
  EXPECT_TRUE(has_waited);
}

TEST_F(ProcessClaims, AThreadDoesNotWaitForItself) {
  const Claim one = claimed({1});
  const Claim two = claimed({1});
  one.turns->begin_turn(not_called);
  one.turns->begin_turn(not_called);
  expect_error(ErrorCode::usage, "this thread", [&] { two.turns->begin_turn(not_called); });
  one.turns->end_turn(false);
  two.turns->begin_turn(not_called);
}

TEST_F(ProcessClaims, AThreadDoesNotWaitForOneThatWaitsForIt) {
  const Claim one = claimed({1});
  const Claim two = claimed({2});
  const Claim both = claimed({1, 2});
  one.turns->begin_turn(not_called);
  std::promise<void> waits;
  std::thread other([&] {
    bool is_first = true;
    both.turns->begin_turn([&] {
      if (std::exchange(is_first, false)) waits.set_value();
    });
  });
  waits.get_future().wait();
  EXPECT_THROW(two.turns->begin_turn([] { throw std::logic_error("it waits"); }), Error);
  one.turns->end_turn(false);
  other.join();
  EXPECT_TRUE(both.turns->has_turn());
}

TEST_F(ProcessClaims, WhatOneKeepsTheOthersHaveNot) {
  const Claim one = claimed({1});
  const Claim two = claim(mpi::Communicator::serial(), sees({1}, 10), true);
  one.turns->begin_turn(not_called);
  EXPECT_EQ(one.turns->budget_left(device(1)), 500);
  one.turns->end_turn(true);
  two.turns->begin_turn(not_called);
  EXPECT_EQ(two.turns->budget_left(device(1)), 500) << "the other half";
  two.turns->end_turn(false);

  Probe greedy = sees({1});
  greedy.devices[0].info.memory_fraction = 0.9;
  Claim three = claim(mpi::Communicator::serial(), greedy, false);
  three.turns->begin_turn(not_called);
  EXPECT_EQ(three.turns->budget_left(device(1)), 500);
  three.turns->end_turn(true);
  one.turns->begin_turn(not_called);
  EXPECT_EQ(one.turns->budget_left(device(1)), 100);
  one.turns->end_turn(false);
  three = {};
  one.turns->begin_turn(not_called);
  EXPECT_EQ(one.turns->budget_left(device(1)), 500);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::detail

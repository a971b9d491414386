// SPDX-License-Identifier: Apache-2.0
#include "topology/claim/device_locks.hpp"
#include "support/errors.hpp"
#include "temporary_folder.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <optional>

namespace TESSERA_NAMESPACE::detail {
namespace {

namespace fs = std::filesystem;

class DeviceLocks : public ::testing::Test {
 protected:
  void TearDown() override { unsetenv("TESSERA_LOCK_DIR"); }

  /// The calls of a claim's leader and of one of its ranks.
  std::shared_ptr<const void> drive(const std::string& name, bool shared = false, std::int64_t budget = 0) {
    const DeviceUser user = this_user(shared, budget);
    ReservedSlot reserved = ClaimLock(folder_).reserve(name, user);
    return take_slot(folder_, name, reserved.slot, user);
  }
  std::vector<DeviceUser> users(const std::string& name) { return ClaimLock(folder_).users_of(name); }

  TemporaryFolder folder_;
};

TEST_F(DeviceLocks, ADeviceHasAUserUntilItIsLetGo) {
  EXPECT_TRUE(users("GPU-1").empty());
  auto held = drive("GPU-1", true, 7);
  ASSERT_NE(held, nullptr);
  const auto seen = users("GPU-1");
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_TRUE(seen[0].shared);
  EXPECT_EQ(seen[0].budget_bytes, 7);
  EXPECT_EQ(seen[0].pid, getpid());
  EXPECT_EQ(to_string(seen[0]), "another job of this process");
  EXPECT_TRUE(users("GPU-2").empty());
  held.reset();
  EXPECT_TRUE(users("GPU-1").empty());
}

TEST_F(DeviceLocks, SharersHaveSlotsOfTheirOwnWhichAreUsedAgain) {
  auto one = drive("GPU-1", true, 1);
  auto two = drive("GPU-1", true, 2);
  auto three = drive("GPU-1", true, 4);
  EXPECT_EQ(users("GPU-1").size(), 3U);
  two.reset();
  std::int64_t budgets = 0;
  for (const auto& user : users("GPU-1")) budgets += user.budget_bytes;
  EXPECT_EQ(budgets, 5);
  EXPECT_EQ(ClaimLock(folder_).reserve("GPU-1", {}).slot, 1);
}

TEST_F(DeviceLocks, AReservedSlotLooksTakenAllTheTime) {
  std::optional<ReservedSlot> reserved = ClaimLock(folder_).reserve("GPU-1", this_user(false, 0));
  EXPECT_EQ(users("GPU-1").size(), 1U);
  auto held = take_slot(folder_, "GPU-1", reserved->slot, this_user(false, 0));
  EXPECT_EQ(users("GPU-1").size(), 1U);
  EXPECT_EQ(take_slot(folder_, "GPU-1", reserved->slot, this_user(false, 0)), nullptr) << "it has an owner";
  reserved.reset();
  EXPECT_EQ(users("GPU-1").size(), 1U);
}

TEST_F(DeviceLocks, AUserThatDiesLeavesNothingBehind) {
  std::array<int, 2> ready{};
  ASSERT_EQ(pipe(ready.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    [[maybe_unused]] const auto held = drive("GPU-1");
    (void)!write(ready[1], "x", 1);
    pause();
    _exit(0);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  const auto seen = users("GPU-1");
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].pid, child);
  EXPECT_TRUE(to_string(seen[0]).starts_with("pid " + std::to_string(child) + " (")) << to_string(seen[0]);
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(users("GPU-1").empty());
  close(ready[0]);
  close(ready[1]);
}

/// A forked process that ends on request.
class Child {
 public:
  /// `first` runs before it waits.
  explicit Child(const std::function<void()>& first) {
    EXPECT_EQ(pipe(ready_.data()), 0);
    EXPECT_EQ(pipe(end_.data()), 0);
    child_ = fork();
    char byte = 0;
    if (child_ == 0) {
      first();
      (void)!write(ready_[1], "x", 1);
      close(end_[1]);
      (void)!read(end_[0], &byte, 1);
      _exit(0);
    }
    EXPECT_EQ(read(ready_[0], &byte, 1), 1);
  }
  ~Child() {
    for (const int file : {ready_[0], ready_[1], end_[0], end_[1]}) close(file);
    EXPECT_EQ(waitpid(child_, nullptr, 0), child_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

 private:
  std::array<int, 2> ready_{};
  std::array<int, 2> end_{};
  pid_t child_ = 0;
};

TEST_F(DeviceLocks, AChildOfItsUserKeepsNoDevice) {
  for (const char* name : {"GPU-1", "sim-1"}) {
    auto held = drive(name);
    const Child child([] {});
    EXPECT_EQ(users(name).size(), 1U);
    held.reset();
    EXPECT_TRUE(users(name).empty()) << name;
    EXPECT_NE(drive(name), nullptr);
  }
  std::optional<ClaimLock> claim(folder_);
  const Child child([] {});
  claim.reset();
  EXPECT_NO_THROW(ClaimLock(folder_, {}, std::chrono::seconds(0)));
}

TEST_F(DeviceLocks, AChildOfItsUserEndsNoLock) {
  for (const char* name : {"GPU-1", "sim-1"}) {
    auto held = drive(name);
    const Child child([&] { held.reset(); });
    EXPECT_EQ(users(name).size(), 1U) << name;
    EXPECT_TRUE(fs::exists(folder_ / name));
  }
}

TEST_F(DeviceLocks, AClaimWaitsForAnotherAndLooksAround) {
  std::optional<ClaimLock> first(folder_);
  int looks = 0;
  const ClaimLock second(folder_, [&] {
    if (++looks == 3) first.reset();
  });
  EXPECT_EQ(looks, 3);
}

TEST_F(DeviceLocks, AClaimThatDoesNotEndIsNamed) {
  const ClaimLock first(folder_);
  try {
    const ClaimLock second(folder_, {}, std::chrono::seconds(0));
    ADD_FAILURE() << "two claims at once";
  } catch (const ClaimInProgress& other) {
    EXPECT_STREQ(other.what(),
                 "another job of this process has been claiming GPUs for 0 s: end this process if it hangs "
                 "or is suspended");
  }
}

TEST_F(DeviceLocks, FilesOfSimulatedDevicesGoWithTheirLastUser) {
  DeviceInfo device;
  device.simulated = true;
  const std::string name = lock_name(device, "launch 7", "boot/host");
  EXPECT_EQ(name, "sim-launch_7-boot_host-" + to_string(device.uuid));
  auto one = drive(name, true);
  auto two = drive(name, true);
  one.reset();
  EXPECT_TRUE(fs::exists(folder_ / name));
  two.reset();
  EXPECT_FALSE(fs::exists(folder_ / name));

  // Left by a killed process.
  const auto held = drive(name, true);
  const std::string left = lock_name(device, "launch 8", "boot/host");
  const std::string left_empty = lock_name(device, "launch 9", "boot/host");
  const std::string no_locks = lock_name(device, "10", "boot/host");
  fs::copy_file(folder_ / name, folder_ / left);
  std::ofstream(folder_ / left_empty).close();
  std::ofstream(folder_ / no_locks) << std::string(128, 'x');
  fs::copy_file(folder_ / name, folder_ / "sim-copy");
  std::ofstream(folder_ / "sim-results").close();
  drive("GPU-1");
  EXPECT_FALSE(fs::exists(folder_ / left));
  EXPECT_FALSE(fs::exists(folder_ / left_empty));
  for (const std::string& other : {name, no_locks, std::string("sim-copy"), std::string("sim-results")})
    EXPECT_TRUE(fs::exists(folder_ / other)) << other;
  EXPECT_TRUE(fs::exists(folder_ / "GPU-1")) << "a real device's file stays";
}

TEST_F(DeviceLocks, AnothersFileIsNotWritten) {
  for (const char* name : {"claims", "GPU-1"}) {
    const std::string text(128, 'x');
    std::ofstream(folder_ / name) << text;
    expect_error(ErrorCode::job_fault, "is not a GPU lock file", [&] { drive("GPU-1"); });
    std::ifstream file(folder_ / name);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), text);
    fs::remove(folder_ / name);
  }
}

TEST_F(DeviceLocks, ARealDeviceIsTheSameForAllLaunches) {
  const DeviceInfo device;
  EXPECT_EQ(lock_name(device, "one", "here"), to_string(device.uuid));
  EXPECT_EQ(lock_name(device, "two", "there"), to_string(device.uuid));
}

TEST_F(DeviceLocks, ALinkIsNotFollowed) {
  const fs::path elsewhere = folder_ / "elsewhere";
  std::ofstream(elsewhere) << "somebody's";
  fs::create_symlink(elsewhere, folder_ / "GPU-1");
  EXPECT_THROW((void)users("GPU-1"), Error);
  EXPECT_THROW((void)drive("GPU-1"), Error);
}

TEST_F(DeviceLocks, TheFolderIsTheOneThatIsNamedOrTheUsersOwn) {
  setenv("TESSERA_LOCK_DIR", (folder_ / "a" / "b").c_str(), 1);
  EXPECT_EQ(lock_folder(), folder_ / "a" / "b");
  EXPECT_TRUE(fs::is_directory(folder_ / "a" / "b"));
  unsetenv("TESSERA_LOCK_DIR");
  const fs::path own = lock_folder();
  EXPECT_EQ(own.filename(), "tessera-" + std::to_string(geteuid()));
  struct stat status {};
  ASSERT_EQ(lstat(own.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0700U);
  EXPECT_EQ(status.st_uid, geteuid());
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::detail

// SPDX-License-Identifier: Apache-2.0
#include "mpi/job/exercise_testing.hpp"
#include "support/errors.hpp"

#include <tessera/error.hpp>
#include <tessera/job/fault_points.hpp>

namespace tessera::testing {
namespace {

std::string last_rank() {
  return "rank" + std::to_string(world().size() - 1);
}

TEST(FaultyDevices, NameTheDeviceWhoseResultIsWrong) {
  const Exercise found = exercised("*:2xH200", "wrong@" + last_rank() + ".device0");
  const std::size_t broken = found.devices.size() - 2;
  for (std::size_t i = 0; i < found.devices.size(); ++i) {
    EXPECT_EQ(found.devices[i].failure.empty(), i != broken);
    EXPECT_GT(found.devices[i].memory.median, 0);
  }
  EXPECT_EQ(found.devices[broken].failure,
            "check: 1 of 1024 results are wrong, the first at index 0, counted from 0: do not use this GPU "
            "before the hardware has been checked");
  EXPECT_EQ(found.device_sum.reason, "a device has failed");
  EXPECT_EQ(found.device_sum.path, "");
  EXPECT_EQ(found.rank_sum.failure, "") << "the ranks can add";
}

TEST(FaultyDevices, NameEveryDeviceThatFailsAndWhere) {
  const Exercise found = exercised("*:3xH200", "bind@rank0.device0,allocate@" + last_rank() + ".device2");
  EXPECT_EQ(found.devices.front().failure, "open: fault point \"bind\"");
  EXPECT_EQ(found.devices.back().failure, "allocate: fault point \"allocate\"");
  EXPECT_EQ(found.devices[1].failure, "");
  EXPECT_GT(found.devices[1].memory.value, 0) << "it was exercised all the same";
}

TEST(FaultyDevices, NameTheDeviceThatIsSlowAmongItsPeers) {
  const Exercise found = exercised("*:2xH200+T4", "slow@" + last_rank() + ".device1");
  for (std::size_t i = 0; i < found.devices.size(); ++i) {
    EXPECT_EQ(found.devices[i].memory.is_slow(), i == found.devices.size() - 2) << i;
    EXPECT_EQ(found.devices[i].failure, "");
  }
  // A T4 is slower than an H200, but not than its peers.
  EXPECT_LT(found.devices[2].memory.median, 0.1 * found.devices[0].memory.median);
}

TEST(FaultyDevices, SayWhyAJobHasNoDeviceToExercise) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:H200");
  const ScopedVariable fault("TESSERA_FAULT", "claim@rank0");
  EXPECT_EQ(active_fault_points(), "claim@rank0");
  Job job(world());
  expect_error(ErrorCode::job_fault, "fault point \"claim\"", [&] { (void)exercise(job); });
}

TEST(FaultyDevices, AreNamedIfTheJobHasLeftThemOut) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:2xH200");
  JobOptions options;
  options.on_device_failure = OnDeviceFailure::exclude;
  {
    const ScopedVariable fault("TESSERA_FAULT", "claim@rank0.device1");
    Job job(world(), options);
    const Exercise found = exercise(job);
    ASSERT_EQ(found.left_out.size(), 1u);
    EXPECT_EQ(found.left_out[0].stage, "claim");
    EXPECT_EQ(found.devices.size(), 2 * static_cast<std::size_t>(job.comm().size()) - 1);
    for (const DeviceExercise& device : found.devices) EXPECT_EQ(device.failure, "");
    EXPECT_EQ(found.device_sum.path, "the hosts");
  }
  const ScopedVariable fault("TESSERA_FAULT", "throw@rank0.device1:pass1");
  Job job(world(), options);
  (void)map_units(job, job.plan(1000));
  const Exercise found = exercise(job);
  EXPECT_TRUE(found.left_out.empty()) << "it is in the inventory";
  EXPECT_EQ(found.devices[1].failure, "open: not exercised: the job excluded this device after a failure");
  EXPECT_EQ(found.devices[0].failure, "");
}

}  // namespace
}  // namespace tessera::testing

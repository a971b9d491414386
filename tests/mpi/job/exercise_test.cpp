// SPDX-License-Identifier: Apache-2.0
#include "job/exercise/exercised_device.hpp"
#include "mpi/job/exercise_testing.hpp"
#include "support/on_cpu.hpp"

namespace tessera::testing {
namespace {

TEST(DeviceExercises, FindNothingWhereNothingIsWrong) {
  const Exercise found = exercised("*:2xH200");
  for (const DeviceExercise& device : found.devices) {
    EXPECT_EQ(device.failure, "");
    EXPECT_FALSE(device.memory.is_slow());
    EXPECT_NEAR(device.memory.value, 4.9e12, 0.1e12) << "that of the specification";
    EXPECT_EQ(device.arithmetic.value, 0) << "nobody has measured it";
  }
  EXPECT_EQ(found.device_sum.path, "the hosts");
  EXPECT_EQ(found.device_sum.reason, "devices are simulated");
  EXPECT_EQ(found.device_sum.failure, "");
  EXPECT_GT(found.device_sum.seconds, 0);
  EXPECT_EQ(found.rank_sum.failure, "");
  if (world().size() > 1) {
    EXPECT_GT(found.rank_sum.seconds, 0);
  } else {
    EXPECT_EQ(found.rank_sum.path, "");
    EXPECT_EQ(found.rank_sum.reason, "there is one rank");
  }
}

TEST(DeviceExercises, HaveAKernelThatCompiles) {
  const auto compiler = nvrtc_compiler();
  if (compiler->version().empty()) GTEST_SKIP() << "there is no NVRTC";
  const CompileOutcome outcome = compiler->compile(exercise_source(), compiler->target_for({9, 0}));
  const auto* failure = std::get_if<CompileFailure>(&outcome);
  EXPECT_EQ(failure, nullptr) << failure->log;
}

TEST(DeviceExercises, OfDevicesThatRanksShare) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:H200@node");
  JobOptions options;
  options.allow_sharing = true;
  Job job(world(), options);
  const Exercise found = exercise(job);
  ASSERT_EQ(found.devices.size(), static_cast<std::size_t>(job.comm().size()));
  for (const DeviceExercise& device : found.devices) EXPECT_EQ(device.failure, "");
  EXPECT_EQ(found.device_sum.failure, "");
}

TEST(DeviceExercises, LeaveTheJobAsItWas) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:2xH200");
  Job job(world());
  (void)exercise(job);
  const Plan plan = job.plan(1000);
  EXPECT_EQ(map_units(job, plan), expected_map(job, plan));
  EXPECT_EQ(job.last_verdict().ran, Verdict::Ran::devices);
}

TEST(DeviceExercises, OfAJobOnTheCpuAreTheSumOfItsRanks) {
  Job job(world(), on_cpu());
  const Exercise found = exercise(job);
  EXPECT_TRUE(found.devices.empty());
  EXPECT_EQ(found.device_sum.reason, "the job has no device");
  EXPECT_EQ(found.rank_sum.failure, "");
}

}  // namespace
}  // namespace tessera::testing

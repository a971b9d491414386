// SPDX-License-Identifier: Apache-2.0
#include "gpu_job.hpp"

#include <tessera/job/exercise.hpp>

namespace tessera::testing {
namespace {

TEST(DeviceExercisesOnGpus, MeasureEveryRate) {
  Job job(world());
  if (job.on_host()) GTEST_SKIP() << job.last_verdict();
  const Exercise found = exercise(job);
  for (const DeviceExercise& device : found.devices) {
    EXPECT_EQ(device.failure, "");
    EXPECT_GT(device.open_seconds, 0);
    for (const ExerciseRate& rate : {device.to_device, device.from_device, device.memory, device.arithmetic})
      EXPECT_GT(rate.value, 1e9);
  }
  EXPECT_EQ(found.device_sum.failure, "");
  EXPECT_EQ(found.rank_sum.failure, "");
}

TEST(DeviceExercisesOnGpus, LeaveNoMemoryInUse) {
  Job job(world());
  if (job.on_host()) GTEST_SKIP() << job.last_verdict();
  (void)exercise(job);
  for (std::size_t i = 0; i < job.devices().size(); ++i)
    EXPECT_EQ(job.buffers().pool_at(i).statistics().reserved_bytes(), 0u);
}

}  // namespace
}  // namespace tessera::testing

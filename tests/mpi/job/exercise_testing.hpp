// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mpi/job/job_testing.hpp"

#include <tessera/job/exercise.hpp>

#include <string>

/// Functions of the tests of exercises.
namespace tessera::testing {

/// All results of an exercise except times, as one text.
inline std::string text_of(const Exercise& found) {
  std::string text = found.device_sum.path + '|' + found.device_sum.reason + '|' + found.device_sum.failure +
                     '|' + found.rank_sum.failure;
  for (const DeviceExercise& device : found.devices)
    text += '\n' + device.failure + ' ' + std::to_string(device.memory.value) + " of " +
            std::to_string(device.memory.median);
  return text;
}

/// The exercise of a job with these devices and faults, the same on every rank.
inline Exercise exercised(const std::string& devices, const std::string& faults = {}) {
  const ScopedVariable simulate("TESSERA_SIMULATE", devices);
  const ScopedVariable fault("TESSERA_FAULT", faults);
  Job job(world());
  Exercise found = exercise(job);
  EXPECT_EQ(found.devices.size(), job.inventory().devices().size());
  expect_same_on_all_ranks(job.comm(), text_of(found));
  return found;
}

}  // namespace tessera::testing

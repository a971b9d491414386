// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mpi/job/job_testing.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace tessera::testing {

/// A job on real devices; without them the test is skipped.
class GpuJob : public ::testing::Test {
 protected:
  void SetUp() override {
    job_.emplace(comm_, options_);
    if (job_->inventory().devices().empty()) GTEST_SKIP() << to_string(job_->last_verdict());
  }

  ScopedVariable simulate_{"TESSERA_SIMULATE", std::nullopt};
  ScopedVariable fault_{"TESSERA_FAULT", std::nullopt};
  mpi::Communicator comm_ = world();
  JobOptions options_;
  std::optional<Job> job_;
};

}  // namespace tessera::testing

// SPDX-License-Identifier: Apache-2.0
#include "mpi/job/scoped_variable.hpp"

#include <tessera/mpi/launcher.hpp>
#include <tessera/mpi/session.hpp>

#include <gtest/gtest.h>

#include <optional>

namespace tessera::mpi {
namespace {

using testing::ScopedVariable;

/// An environment without the variables of launchers.
struct NotLaunched {
  ScopedVariable ompi_{"OMPI_COMM_WORLD_RANK", std::nullopt};
  ScopedVariable pmix_{"PMIX_RANK", std::nullopt};
  ScopedVariable pmi_{"PMI_RANK", std::nullopt};
  ScopedVariable pals_{"PALS_RANKID", std::nullopt};
  ScopedVariable procid_{"SLURM_PROCID", std::nullopt};
  ScopedVariable tasks_{"SLURM_STEP_NUM_TASKS", std::nullopt};
};

TEST(Launcher, WithoutOneAProcessIsAlone) {
  const NotLaunched alone;
  EXPECT_EQ(launched_runtime(), Runtime::serial);
  EXPECT_EQ(launched_rank(), -1);
}

TEST(Launcher, ItsRanksAreKnownByTheirEnvironment) {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) {
    const NotLaunched otherwise;
    const ScopedVariable rank(variable, "3");
    EXPECT_EQ(launched_runtime(), Runtime::mpi) << variable;
    EXPECT_EQ(launched_rank(), 3) << variable;
  }
  const NotLaunched otherwise;
  const ScopedVariable cray("PALS_RANKID", "0");
  EXPECT_EQ(launched_runtime(), Runtime::mpi);
  EXPECT_EQ(launched_rank(), 0);
}

// As sbatch and srun set them: both set SLURM_PROCID.
TEST(Launcher, ABatchScriptIsAloneAndTasksOfSrunAreNot) {
  const NotLaunched otherwise;
  const ScopedVariable batch("SLURM_PROCID", "0");
  EXPECT_EQ(launched_runtime(), Runtime::serial);
  {
    const ScopedVariable one("SLURM_STEP_NUM_TASKS", "1");
    EXPECT_EQ(launched_runtime(), Runtime::serial);
  }
  const ScopedVariable two("SLURM_STEP_NUM_TASKS", "2");
  EXPECT_EQ(launched_runtime(), Runtime::mpi) << "without a PMI each would do the work of all";
}

}  // namespace
}  // namespace tessera::mpi

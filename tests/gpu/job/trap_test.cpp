// SPDX-License-Identifier: Apache-2.0
#include "gpu_job.hpp"

namespace tessera::testing {
namespace {

/// The device of the last rank that has one is lost in the middle of its tile.
TEST_F(GpuJob, ADeviceThatIsLostGivesTheCpusAnswerOnEveryRank) {
  const int unlucky = job_->inventory().devices().back().rank;
  const Plan plan = job_->plan(100'000);
  auto units = local_units(*job_, plan);
  job_->scatter(
      plan, std::span(units),
      [&](Tile& tile, std::span<double> part) {
        map_on_device(tile, part, part);
        // The kernel fails after the function has returned: only synchronising the stream detects it.
        if (comm_.rank() == unlucky) launch_trap(native(tile));
      },
      [](const HostTile&, std::span<double> part) {
        for (double& unit : part) unit = unit_result(unit);
      });
  EXPECT_EQ(bits(units), bits(expected_map(*job_, plan)));
  const Verdict verdict = job_->last_verdict();
  EXPECT_EQ(verdict.ran, Verdict::Ran::fallback);
  EXPECT_EQ(verdict.failure.rank, unlucky);
  EXPECT_EQ(verdict.failure.stage, "tile");
  EXPECT_NE(verdict.failure.reason.find("cudaErrorLaunchFailure"), std::string::npos) << verdict;
  expect_same_on_all_ranks(comm_, to_string(verdict));

  // The job continues on the CPU.
  EXPECT_TRUE(job_->on_host());
  const Plan next = job_->plan(1000, 10);
  EXPECT_EQ(bits(reduce_units(*job_, next)), bits(expected_sums(1000, 10)));
}

}  // namespace
}  // namespace tessera::testing

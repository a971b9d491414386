// SPDX-License-Identifier: Apache-2.0
#include "gpu_job.hpp"

namespace tessera::testing {
namespace {

/// A failed launch leaves results unchanged, and no error in the stream.
TEST_F(GpuJob, ALaunchThatFailsUnnoticedFailsTheTile) {
  const Plan plan = job_->plan(10'000);
  const auto units = local_units(*job_, plan);
  const auto results = job_->map<double>(
      plan, std::span<const double>(units),
      [](Tile& tile, std::span<const double> in, std::span<double> out) {
        const DeviceArray<double> on_device(tile, in);
        constexpr unsigned more_threads_than_a_block_holds = 4096;
        launch_map(1, more_threads_than_a_block_holds, native(tile), on_device.data(), on_device.data(),
                   in.size());
        on_device.copy_to(out);
      },
      map_on_host);
  EXPECT_EQ(bits(results), bits(expected_map(*job_, plan)));
  EXPECT_EQ(job_->last_verdict().ran, Verdict::Ran::fallback);
  // cudaErrorInvalidConfiguration by the manual, cudaErrorInvalidValue by driver 580.
  EXPECT_NE(job_->last_verdict().failure.reason.find("cudaErrorInvalid"), std::string::npos)
      << job_->last_verdict();
}

}  // namespace
}  // namespace tessera::testing

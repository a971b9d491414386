// SPDX-License-Identifier: Apache-2.0
#include "gpu_job.hpp"

#include <tessera/error.hpp>
#include <tessera/job/array.hpp>

namespace tessera::testing {
namespace {

/// The last rank's device, if it has one, is lost with versions that only it has.
TEST_F(GpuJob, ADeviceThatIsLostWithItsDataCostsThePassesSinceTheLastDownload) {
  const int unlucky = job_->inventory().devices().back().rank;
  Array<double> values(*job_, job_->plan(100'000, 64));
  std::ranges::copy(local_units(*job_, values.plan()), values.overwrite().begin());
  const auto step = [&](bool is_lost) {
    job_->update(
        arrays(values.read(), values.write()),
        [&](Tile& tile, std::span<const double> last, std::span<double> next) {
          launch_map(blocks_for(last.size()), 128, native(tile), last.data(), next.data(), last.size());
          check(cudaGetLastError());
          if (is_lost && comm_.rank() == unlucky) launch_trap(native(tile));
        },
        map_on_host);
  };
  step(false);
  job_->download(values);
  step(false);
  try {
    step(true);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::rolled_back) << error.what();
    expect_same_on_all_ranks(comm_, error.what());
  }
  EXPECT_EQ(values.version(), 2) << "the one that was downloaded";
  EXPECT_TRUE(job_->on_host());
  step(false);
  auto expected = local_units(*job_, values.plan());
  for (int i = 0; i < 2; ++i) std::ranges::transform(expected, expected.begin(), unit_result);
  EXPECT_EQ(bits({values.host().begin(), values.host().end()}), bits(expected));
}

}  // namespace
}  // namespace tessera::testing

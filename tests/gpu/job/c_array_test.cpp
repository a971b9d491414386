// SPDX-License-Identifier: Apache-2.0
// Arrays in the C interface on real devices: functions get device memory, and data stay there.
#include "gpu_job.hpp"
#include "mpi/c/c_testing.hpp"

#include <vector>

namespace tessera::testing {
namespace {

constexpr std::int64_t units = 1'000'001;
constexpr int steps = 3;

int step_on_device(tessera_tile* tile, void* const* arrays, void*) {
  const tessera_range range = tessera_tile_range(tile);
  const tessera_range whole = tessera_tile_whole(tile);
  if (whole.begin != range.begin || whole.end != range.end || tessera_tile_lane(tile) != 0 ||
      tessera_tile_memory_budget(tile) <= 0 || tessera_tile_capability(tile) < 75)
    return 2;
  const auto count = static_cast<std::size_t>(range.end - range.begin);
  launch_map(blocks_for(count), 128, static_cast<cudaStream_t>(tessera_tile_stream(tile)),
             static_cast<const double*>(arrays[0]), static_cast<double*>(arrays[1]), count);
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
int step_on_host(const tessera_host_tile*, void* const*, void*) {
  return 1;
}

TEST(GpuCArray, StaysOnTheDevices) {
  const ScopedVariable simulate("TESSERA_SIMULATE", std::nullopt);
  const OwnedJob job = opened();
  if (tessera_job_on_host(job.get()) != 0) GTEST_SKIP() << tessera_job_verdict(job.get());
  const OwnedPlan plan = planned(job, units);
  const OwnedArray array = array_over(job, plan, sizeof(double));
  const tessera_range mine = tessera_plan_local_range(plan.get());
  std::vector<double> expected;
  for (std::int64_t unit = mine.begin; unit < mine.end; ++unit) expected.push_back(static_cast<double>(unit));
  std::ranges::copy(expected, static_cast<double*>(tessera_array_overwrite(array.get())));

  const tessera_array_use used[] = {{array.get(), TESSERA_READ}, {array.get(), TESSERA_WRITE}};
  for (int step = 0; step < steps; ++step) {
    ASSERT_EQ(tessera_update(job.get(), used, 2, step_on_device, step_on_host, nullptr), TESSERA_OK)
        << tessera_error();
    std::ranges::transform(expected, expected.begin(), unit_result);
  }
  EXPECT_EQ(tessera_array_host_version(array.get()), 1);
  tessera_array* const list[] = {array.get()};
  ASSERT_EQ(tessera_download(job.get(), list, 1), TESSERA_OK) << tessera_error();
  const auto* const values = static_cast<const double*>(tessera_array_host(array.get()));
  EXPECT_EQ(bits({values, values + expected.size()}), bits(expected));
}

}  // namespace
}  // namespace tessera::testing

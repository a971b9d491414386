// SPDX-License-Identifier: Apache-2.0
// Reductions by reducers on real devices have the bits of the host.
#include "gpu_job.hpp"

#include <tessera/job/array.hpp>

namespace tessera::testing {
namespace {

constexpr std::int64_t units = 300'001;  // the last block is short
constexpr std::int64_t block = 64;

class GpuReductions : public GpuJob {
 protected:
  void expect_look(const Look& look) const {
    EXPECT_EQ(job_->last_verdict().ran, Verdict::Ran::devices) << job_->last_verdict();
    std::vector<double> all;
    for (std::int64_t unit = 0; unit < units; ++unit) all.push_back(unit_value(unit));
    const Look expected = look_at(all.data(), units, 0);
    EXPECT_EQ(look.least.value, expected.least.value);
    EXPECT_EQ(look.least.at, expected.least.at);
    EXPECT_EQ(look.greatest, expected.greatest);
    EXPECT_EQ(look.above, expected.above);
  }
};

void look_on_device(Tile& tile, std::span<Look> looks, std::span<const double> values) {
  EXPECT_EQ(std::ssize(looks), (tile.range().size() - 1) / block + 1);
  launch_look(native(tile), values.data(), std::ssize(values), tile.range().begin, block, looks.data());
  check(cudaGetLastError());
}

TEST_F(GpuReductions, OfArraysHaveTheBitsOfTheHost) {
  Array<double> values(*job_, job_->plan(units, block));
  std::ranges::copy(local_units(*job_, values.plan()), values.overwrite().begin());
  expect_look(job_->reduce(arrays(values.read()), Looks{}, look_on_device,
                           [](const HostTile& tile, Look& look, std::span<const double> own) {
                             look = look_at(own.data(), std::ssize(own), tile.range.begin);
                           }));
}

TEST_F(GpuReductions, InPartsHaveTheBitsOfTheHost) {
  const Plan plan = job_->plan(units, block);
  std::int64_t least = job_->inventory().devices()[0].memory_budget_bytes;
  for (const auto& device : job_->inventory().devices()) least = std::min(least, device.memory_budget_bytes);
  const auto values_of = [](Range range) {
    std::vector<double> values;
    for (std::int64_t unit = range.begin; unit < range.end; ++unit) values.push_back(unit_value(unit));
    return values;
  };
  expect_look(job_->reduce(
      plan, Looks{},
      [&](Tile& tile, std::span<Look> looks) {
        const std::vector<double> values = values_of(tile.range());
        const DeviceArray<double> on_device(tile, std::span<const double>(values));
        look_on_device(tile, looks, {on_device.data(), values.size()});
      },
      [&](const HostTile& tile, Look& look) {
        const std::vector<double> values = values_of(tile.range);
        look = look_at(values.data(), std::ssize(values), tile.range.begin);
      },
      least / 10'000));
}

TEST_F(GpuReductions, ADeviceThatFailsLeavesTheAnswerToTheHosts) {
  const Plan plan = job_->plan(units, block);
  const std::int64_t blocks = job_->reduce(
      plan, Sum<std::int64_t>{}, [](Tile& tile, std::span<std::int64_t>) { tile.fail("on purpose"); },
      [](const HostTile&, std::int64_t& value) { ++value; });
  EXPECT_EQ(blocks, (units - 1) / block + 1);
  EXPECT_EQ(job_->last_verdict().ran, Verdict::Ran::fallback) << job_->last_verdict();
}

}  // namespace
}  // namespace tessera::testing

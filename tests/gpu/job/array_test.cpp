// SPDX-License-Identifier: Apache-2.0
// Arrays that stay on real devices have the bits of the host after many passes, with one copy each way.
#include "gpu_job.hpp"

#include <tessera/job/array.hpp>
#include <tessera/job/device_adder.hpp>

namespace tessera::testing {
namespace {

// Copied in several pieces, the last of them short.
constexpr std::int64_t units = 3'000'001;
constexpr std::int64_t block = 64;

class GpuArrays : public GpuJob {
 protected:
  void SetUp() override {
    GpuJob::SetUp();
    if (!job_ || job_->inventory().devices().empty()) return;
    values_.emplace(*job_, job_->plan(units, block));
    std::ranges::copy(local_units(*job_, values_->plan()), values_->overwrite().begin());
  }

  void step() {
    job_->update(
        arrays(values_->read(), values_->write()),
        [](Tile& tile, std::span<const double> last, std::span<double> next) {
          launch_map(blocks_for(last.size()), 128, native(tile), last.data(), next.data(), last.size());
          check(cudaGetLastError());
        },
        map_on_host);
    EXPECT_EQ(job_->last_verdict().ran, Verdict::Ran::devices) << job_->last_verdict();
  }
  [[nodiscard]] std::vector<double> expected(int steps) const {
    auto values = local_units(*job_, values_->plan());
    for (int i = 0; i < steps; ++i) std::ranges::transform(values, values.begin(), unit_result);
    return values;
  }
  [[nodiscard]] std::vector<double> sums_of_values() {
    auto sums = job_->reduce(
        arrays(values_->read()), sum_width,
        [](Tile& tile, ReproducibleSum& sum, std::span<const double> values) {
          const std::int64_t blocks = (tile.range().size() - 1) / block + 1;
          const DeviceArray<double> partials(tile, static_cast<std::size_t>(blocks) * sum_width);
          launch_reduce(native(tile), values.data(), std::ssize(values), block, partials.data());
          check(cudaGetLastError());
          add_on_device(tile, sum, partials.data(), blocks);
        },
        [](const HostTile& tile, std::span<double> partial, std::span<const double>) {
          add_block(tile.range, partial);
        });
    EXPECT_EQ(job_->last_verdict().ran, Verdict::Ran::devices) << job_->last_verdict();
    return sums;
  }
  [[nodiscard]] std::vector<double> downloaded() {
    job_->download(*values_);
    return {values_->host().begin(), values_->host().end()};
  }

  std::optional<Array<double>> values_;
};

TEST_F(GpuArrays, ManyPassesCopyOnceEachWay) {
  for (int i = 0; i < 5; ++i) step();
  EXPECT_EQ(bits(downloaded()), bits(expected(5)));
  const std::int64_t tiles = std::ssize(values_->plan().tiles_of(comm_.rank()));
  const ArrayTraffic traffic = values_->traffic();
  EXPECT_EQ(traffic.uploads, tiles);
  EXPECT_EQ(traffic.downloads, tiles);
  EXPECT_EQ(traffic.uploaded_bytes, job_->local_range(values_->plan()).size() * 8);
}

TEST_F(GpuArrays, AModifiedArrayBeginsAsTheLastVersion) {
  step();
  job_->update(
      arrays(values_->modify()), [](Tile&, std::span<double>) {}, [](const HostTile&, std::span<double>) {});
  EXPECT_EQ(bits(downloaded()), bits(expected(1)));
}

TEST_F(GpuArrays, HostsAndDevicesTakeTurns) {
  step();
  job_->update(arrays(values_->read(), values_->write()), host_only, map_on_host);
  step();
  EXPECT_EQ(bits(downloaded()), bits(expected(3)));
}

TEST_F(GpuArrays, SumsThatAreAddedOnTheDeviceHaveTheBitsOfTheHost) {
  EXPECT_EQ(bits(sums_of_values()), bits(expected_sums(units, block)));
}

/// The same array on devices limited to a few MiB.
class GpuStreamedArrays : public GpuArrays {
 protected:
  GpuStreamedArrays() { options_.memory_fraction = 3e-5; }
  void expect_streamed() {
    EXPECT_EQ(job_->last_verdict().ran, Verdict::Ran::devices) << job_->last_verdict();
    EXPECT_EQ(values_->host_version(), values_->version());
    for (std::size_t i = 0; i < job_->devices().size(); ++i)
      EXPECT_EQ(job_->buffers().pool_at(i).statistics().in_use_bytes, 0U) << i;
  }
};

TEST_F(GpuStreamedArrays, HaveTheBitsOfTheHost) {
  for (int i = 0; i < 3; ++i) {
    step();
    expect_streamed();
  }
  EXPECT_EQ(bits(downloaded()), bits(expected(3)));
  const std::int64_t tiles = std::ssize(values_->plan().tiles_of(comm_.rank()));
  const std::int64_t bytes = job_->local_range(values_->plan()).size() * 8;
  const ArrayTraffic traffic = values_->traffic();
  if (tiles > 0) {
    EXPECT_GT(traffic.uploads, 2 * 3 * tiles);
  }
  EXPECT_EQ(traffic.uploaded_bytes, 3 * bytes);
  EXPECT_EQ(traffic.downloaded_bytes, 3 * bytes);
}

TEST_F(GpuStreamedArrays, AreModifiedInPlace) {
  step();
  job_->update(
      arrays(values_->modify()), [](Tile&, std::span<double>) {}, [](const HostTile&, std::span<double>) {});
  expect_streamed();
  EXPECT_EQ(bits(downloaded()), bits(expected(1)));
}

TEST_F(GpuStreamedArrays, AreSummedToTheBitsOfTheHost) {
  EXPECT_EQ(bits(sums_of_values()), bits(expected_sums(units, block)));
}

}  // namespace
}  // namespace tessera::testing

// SPDX-License-Identifier: Apache-2.0
#include "gpu_job.hpp"

#include <tessera/job/device_collectives.hpp>

#include <dlfcn.h>

namespace tessera::testing {
namespace {

/// An array on each device of this rank, filled by `value(device, i)`.
template <class T>
class DeviceArrays {
 public:
  template <class Value>
  DeviceArrays(Job& job, std::size_t count, Value&& value) : job_(job), count_(count) {
    for (const InventoryDevice& device : job.inventory().devices_of(job.comm().rank())) {
      std::vector<T> values;
      for (std::size_t i = 0; i < count; ++i) values.push_back(value(device, i));
      bind(device.index);
      void* data = nullptr;
      check(cudaMalloc(&data, count * sizeof(T)));
      pointers_.push_back(static_cast<T*>(data));
      check(cudaMemcpy(data, values.data(), count * sizeof(T), cudaMemcpyHostToDevice));
      check(cudaDeviceSynchronize());  // the collectives' stream does not wait for the default one
    }
  }
  ~DeviceArrays() {
    for (T* data : pointers_) (void)cudaFree(data);
  }
  DeviceArrays(const DeviceArrays&) = delete;
  DeviceArrays& operator=(const DeviceArrays&) = delete;

  [[nodiscard]] std::span<T* const> pointers() const { return pointers_; }
  [[nodiscard]] std::vector<void*> untyped() const { return {pointers_.begin(), pointers_.end()}; }
  [[nodiscard]] std::vector<std::vector<T>> on_host() const {
    std::vector<std::vector<T>> all;
    for (std::size_t i = 0; i < pointers_.size(); ++i) {
      bind(static_cast<int>(i));
      all.emplace_back(count_);
      check(cudaMemcpy(all.back().data(), pointers_[i], count_ * sizeof(T), cudaMemcpyDeviceToHost));
    }
    return all;
  }

 private:
  void bind(int device) const {
    const auto entries = job_.devices().entries();
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].claim_index == device) job_.devices().context_at(i).bind();
    }
  }

  Job& job_;
  std::size_t count_;
  std::vector<T*> pointers_;
};

double real_value(const InventoryDevice& device, std::size_t i) {
  return unit_value(static_cast<std::int64_t>(i) * 64 + device.rank * 8 + device.index);
}
std::int64_t integer_value(const InventoryDevice& device, std::size_t i) {
  return (std::int64_t{1} << 60) / (device.rank + 1) - static_cast<std::int64_t>(i) * 7919 + device.index;
}

template <class T, class Value>
std::vector<T> sum_on_host(const Job& job, std::size_t count, Value&& value) {
  std::vector<T> total(count);
  for (const InventoryDevice& device : job.inventory().devices())
    for (std::size_t i = 0; i < count; ++i) total[i] += value(device, i);
  return total;
}

/// Sums of int64 and double, and a broadcast from every device, against the host.
void expect_right(Job& job) {
  DeviceCollectives collectives = job.collectives();
  (void)collectives.open();
  for (const std::size_t count : {std::size_t{1}, std::size_t{40'000}, std::size_t{1} << 20}) {
    const DeviceArrays<std::int64_t> integers(job, count, integer_value);
    collectives.sum(integers.pointers(), count);
    const auto expected = sum_on_host<std::int64_t>(job, count, integer_value);
    for (const auto& array : integers.on_host()) EXPECT_TRUE(array == expected) << count;

    const DeviceArrays<double> reals(job, count, real_value);
    collectives.sum(reals.pointers(), count);
    const auto near = sum_on_host<double>(job, count, real_value);
    const auto magnitude = sum_on_host<double>(
        job, count, [](const auto& device, std::size_t i) { return std::abs(real_value(device, i)); });
    const auto devices = static_cast<double>(job.inventory().devices().size());
    for (const auto& array : reals.on_host()) {
      std::size_t far = 0;
      for (std::size_t i = 0; i < count; ++i)
        far += std::abs(array[i] - near[i]) > devices * 0x1p-52 * magnitude[i] ? 1 : 0;
      EXPECT_EQ(far, 0u) << count;
    }
  }
  for (const InventoryDevice& root : job.inventory().devices()) {
    constexpr std::size_t count = 1001;
    const DeviceArrays<double> arrays(job, count, real_value);
    collectives.broadcast(arrays.untyped(), count * sizeof(double), root.rank, root.index);
    std::vector<double> expected;
    for (std::size_t i = 0; i < count; ++i) expected.push_back(real_value(root, i));
    for (const auto& array : arrays.on_host()) EXPECT_EQ(bits(array), bits(expected));
  }
}

using GpuCollectives = GpuJob;

TEST_F(GpuCollectives, SumAndBroadcastAsTheHostDoes) {
  expect_right(*job_);
  const auto collectives = job_->collectives();
  RecordProperty("path", std::string(to_string(*collectives.path())));
  if (comm_.rank() == 0)
    std::printf("data went by %s %s\n", std::string(to_string(*collectives.path())).c_str(),
                collectives.reason().c_str());
#ifdef TESSERA_HAVE_NCCL
  // If every rank has the library, it is used.
  const bool here = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL) != nullptr;
  if (comm_.allreduce(here ? 1 : 0, mpi::Reduction::min) == 1) {
    EXPECT_EQ(collectives.path(), DeviceCollectives::Path::nccl) << collectives.reason();
  }
#endif
}

TEST_F(GpuCollectives, ThroughTheHostsTheSame) {
#ifndef TESSERA_HAVE_FAULTS
  GTEST_SKIP() << "this build has no fault points";
#endif
  const int last = job_->inventory().devices().back().rank;
  const ScopedVariable fault("TESSERA_FAULT", "nccl@rank" + std::to_string(last));
  job_.reset();
  Job job(comm_);
  expect_right(job);
  EXPECT_EQ(job.collectives().path(), DeviceCollectives::Path::hosts);
  EXPECT_NE(job.collectives().reason(), "");
  expect_same_on_all_ranks(comm_, job.collectives().reason());
}

TEST_F(GpuCollectives, FollowThePassesOnTheStreamOfEachDevice) {
  const Plan plan = job_->plan(100'000);
  const auto units = local_units(*job_, plan);
  const auto mine = job_->inventory().devices_of(comm_.rank()).size();
  std::vector<Buffer<double>> sums(mine);
  constexpr std::size_t count = 1000;
  (void)job_->map<double>(
      plan, std::span<const double>(units),
      [&](Tile& tile, std::span<const double> in, std::span<double> out) {
        map_on_device(tile, in, out);
        auto& sum = sums[static_cast<std::size_t>(tile.device_index())];
        sum = tile.buffers().take<double>(count, tile.stream());
        const std::vector<double> ones(count, 1.0);
        check(
            cudaMemcpyAsync(sum.data(), ones.data(), sum.size_bytes(), cudaMemcpyHostToDevice, native(tile)));
      },
      map_on_host);
  ASSERT_EQ(job_->last_verdict().ran, Verdict::Ran::devices) << job_->last_verdict();
  std::vector<double*> arrays;
  for (const auto& sum : sums) arrays.push_back(sum.data());
  job_->collectives().sum(std::span<double* const>(arrays), count);
  for (const DevicePool::Entry& entry : job_->devices()) {
    const auto device = static_cast<std::size_t>(entry.claim_index);
    job_->devices().context_of(entry.ordinal).bind();
    std::vector<double> result(count);
    check(cudaMemcpy(result.data(), sums[device].data(), count * sizeof(double), cudaMemcpyDeviceToHost));
    EXPECT_EQ(result, std::vector<double>(count, static_cast<double>(job_->inventory().devices().size())));
  }
}

}  // namespace
}  // namespace tessera::testing

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/kernels.hpp"

#include <tessera/device/context.hpp>
#include <tessera/memory/upstream.hpp>
#include <tessera/topology/probe.hpp>

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// Common parts of the tests of device memory: real devices, and work that waits for the host.
namespace tessera::testing {

inline void check(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

inline cudaStream_t native(StreamView stream) {
  return static_cast<cudaStream_t>(stream.native());
}

class RealMemory : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    unsetenv("TESSERA_SIMULATE");
    const Probe here = probe();
    if (here.absence) why_none = here.absence->message;
    for (const ProbedDevice& device : here.devices) devices.push_back(device.info);
  }
  void SetUp() override {
    if (devices.empty()) GTEST_SKIP() << why_none;
  }
  static void TearDownTestSuite() { devices.clear(); }

  static inline std::vector<DeviceInfo> devices;
  static inline std::string why_none;
};

/// A gate at which kernels wait. Opened by the host, at the latest in the destructor, so that none waits for
/// ever.
class Gate {
 public:
  Gate() {
    check(cudaHostAlloc(&open_, sizeof *open_, cudaHostAllocMapped | cudaHostAllocPortable));
    *open_ = 0;
  }
  ~Gate() {
    open();
    (void)cudaDeviceSynchronize();
    (void)cudaFreeHost(const_cast<int*>(open_));
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void open() { *open_ = 1; }
  [[nodiscard]] const volatile int* get() const { return open_; }

 private:
  volatile int* open_ = nullptr;
};

/// Fills `data` once the gate is open; at once if there is none.
inline void fill(StreamView stream, std::uint32_t* data, std::size_t size, std::uint32_t value,
                 const Gate* gate = nullptr) {
  launch_fill(native(stream), gate == nullptr ? nullptr : gate->get(), data, size, value);
  check(cudaGetLastError());
}

/// Adds the number of elements other than `value` to `wrong`.
inline void count(StreamView stream, const std::uint32_t* data, std::size_t size, std::uint32_t value,
                  unsigned long long* wrong) {
  launch_count(native(stream), data, size, value, wrong);
  check(cudaGetLastError());
}

/// A number that kernels and the host can access.
class Counter {
 public:
  Counter() {
    check(cudaMallocManaged(&value_, sizeof *value_));
    *value_ = 0;
  }
  ~Counter() { (void)cudaFree(value_); }
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;

  [[nodiscard]] unsigned long long* get() const { return value_; }
  /// Call after all work that adds to it is complete.
  [[nodiscard]] unsigned long long value() const { return *value_; }

 private:
  unsigned long long* value_ = nullptr;
};

/// An upstream that does not make streams wait for events, like a pool without a guard.
class WithoutGuard final : public MemoryUpstream {
 public:
  explicit WithoutGuard(std::unique_ptr<MemoryUpstream> real) : real_(std::move(real)) {}

  void* allocate(std::size_t bytes, StreamView stream) override { return real_->allocate(bytes, stream); }
  void deallocate(void* memory, std::size_t bytes, StreamView stream) noexcept override {
    real_->deallocate(memory, bytes, stream);
  }
  void trim() noexcept override { real_->trim(); }
  [[nodiscard]] MemoryInfo memory_info() const override { return real_->memory_info(); }
  void fill_zero(void* memory, std::size_t bytes, StreamView stream) override {
    real_->fill_zero(memory, bytes, stream);
  }
  void check_stream(StreamView stream) const override { real_->check_stream(stream); }
  EventView create_event() override { return real_->create_event(); }
  void destroy_event(EventView event) noexcept override { real_->destroy_event(event); }
  void record(EventView event, StreamView stream) override { real_->record(event, stream); }
  bool ready(EventView event) override { return real_->ready(event); }
  void make_wait(StreamView, EventView) override {}
  void synchronize(EventView event) override { real_->synchronize(event); }

 private:
  std::unique_ptr<MemoryUpstream> real_;
};

}  // namespace tessera::testing

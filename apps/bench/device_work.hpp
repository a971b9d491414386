// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

/// What suites do on the current device. All of it throws `Error(job_fault)`, and in a build without CUDA
/// always.
namespace tessera::bench {

/// Memory of the current device that is zero, and goes with the object.
class DeviceZeros {
 public:
  explicit DeviceZeros(std::size_t bytes);
  ~DeviceZeros();
  DeviceZeros(DeviceZeros&& other) noexcept : data_(other.data_) { other.data_ = nullptr; }
  DeviceZeros& operator=(DeviceZeros&&) = delete;
  DeviceZeros(const DeviceZeros&) = delete;
  [[nodiscard]] void* data() const noexcept { return data_; }

 private:
  void* data_ = nullptr;
};

}  // namespace tessera::bench

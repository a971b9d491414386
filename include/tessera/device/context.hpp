// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/stream.hpp>
#include <tessera/topology/device_info.hpp>

#include <memory>

namespace tessera {

/// One device opened by this process: its primary context and one non-blocking stream.
///
/// Opening makes the context (a tenth of a second or more) and fills in what NVML could not tell.
/// Move-only. `bind` is thread-safe; the rest belongs to one thread at a time.
class DeviceContext {
 public:
  /// Opens the device. Throws `Error(job_fault)` naming the device and the driver's reason. A simulated
  /// device opens without a driver.
  explicit DeviceContext(DeviceInfo info);
  ~DeviceContext();
  DeviceContext(DeviceContext&&) noexcept;
  DeviceContext& operator=(DeviceContext&&) noexcept;

  /// With L2, shared memory per block and threads per multiprocessor known.
  [[nodiscard]] const DeviceInfo& info() const noexcept;
  /// The device's CUDA index in this process; -1 for a simulated device.
  [[nodiscard]] Ordinal ordinal() const noexcept;
  /// Makes the context current on the calling thread, and checks that it is. Throws `Error(job_fault)`.
  void bind() const;
  /// A non-blocking stream of this context, made with it.
  [[nodiscard]] StreamView stream() const noexcept;
  /// Waits for the stream. Throws `Error(job_fault)` if the work on it failed. Blocks.
  void synchronize() const;
  /// Free device memory now, in bytes. Throws `Error(job_fault)`.
  [[nodiscard]] std::int64_t free_memory_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Binds the calling thread to `cpuset` (an hwloc list) and reads the binding back. Returns false if the
/// system did not do it; an empty `cpuset` binds nothing and is true.
bool bind_thread_near(const std::string& cpuset);

}  // namespace tessera

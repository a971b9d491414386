// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/module_cache.hpp>
#include <tessera/device/stream.hpp>
#include <tessera/held.hpp>
#include <tessera/topology/device_info.hpp>
#include <tessera/version.hpp>

#include <memory>

namespace TESSERA_NAMESPACE {

namespace detail {
struct ContextAccess;
}

/// One device opened by this process: its primary context and one non-blocking stream.
///
/// Opening creates the context (a tenth of a second or more) and completes `info()` with the properties that
/// NVML does not report. The device is found by its UUID, so that its CUDA index in this process does not
/// matter. Move-only. All const members are thread-safe.
class TESSERA_EXPORT DeviceContext {
 public:
  /// Opens the device. Throws `Error(job_fault)` naming the device and the driver's reason. A simulated
  /// device needs no driver. `modules` caches the device's kernels, and may be shared by devices; null: a new
  /// cache.
  explicit DeviceContext(DeviceInfo info, std::shared_ptr<ModuleCache> modules = nullptr);
  ~DeviceContext();
  DeviceContext(DeviceContext&&) noexcept;
  DeviceContext& operator=(DeviceContext&&) noexcept;

  /// The properties of the device, with those that NVML does not report: L2, shared memory per block and
  /// threads per multiprocessor.
  [[nodiscard]] const DeviceInfo& info() const;
  /// The device's CUDA index in this process; -1 for a simulated device, and for the host.
  [[nodiscard]] Ordinal ordinal() const;
  /// Makes the context current on the calling thread, and checks that it is. Throws `Error(job_fault)`.
  /// Cost: 0.05 us.
  void bind() const;
  /// The device last bound on the calling thread by `bind`; null if none was bound, or the device was closed
  /// since.
  [[nodiscard]] static const DeviceContext* bound_to_this_thread() noexcept;
  /// The non-blocking stream of this context.
  [[nodiscard]] StreamView stream() const;
  /// Waits for the stream. Throws `Error(job_fault)` if the work on it failed, or if an earlier launch on the
  /// calling thread failed unchecked. Blocks.
  void synchronize() const;
  /// The cache of kernels that are compiled for this device.
  [[nodiscard]] ModuleCache& modules() const;
  /// Free device memory now, in bytes; for a simulated device, as specified. The calling thread's current
  /// context does not change. Throws `Error(job_fault)`.
  [[nodiscard]] std::int64_t free_memory_bytes() const;

 private:
  friend struct detail::ContextAccess;
  struct State;
  detail::Held<std::shared_ptr<State>, "DeviceContext"> state_;
};

}  // namespace TESSERA_NAMESPACE

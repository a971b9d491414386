// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/module_cache.hpp>
#include <tessera/device/stream.hpp>
#include <tessera/topology/device_info.hpp>

#include <memory>

namespace tessera {

class Arena;
namespace detail {
class BackendOutcomes;
}

/// One device opened by this process: its primary context and one non-blocking stream.
///
/// Opening makes the context (a tenth of a second or more) and fills in what NVML could not tell.
/// A device is found by its UUID, so that it is the right one whatever index CUDA gives it in this
/// process. Move-only. All const members are thread-safe.
class DeviceContext {
 public:
  /// Opens the device. Throws `Error(job_fault)` naming the device and the driver's reason. A simulated
  /// device opens without a driver. Kernels are kept in `modules`, which other devices may share; null: in
  /// a cache of its own.
  explicit DeviceContext(DeviceInfo info, std::shared_ptr<ModuleCache> modules = nullptr);
  ~DeviceContext();
  DeviceContext(DeviceContext&&) noexcept;
  DeviceContext& operator=(DeviceContext&&) noexcept;

  /// With L2, shared memory per block and threads per multiprocessor known.
  [[nodiscard]] const DeviceInfo& info() const noexcept;
  /// The device's CUDA index in this process; -1 for a simulated device.
  [[nodiscard]] Ordinal ordinal() const noexcept;
  /// Makes the context current on the calling thread, and checks that it is. Throws `Error(job_fault)`.
  /// Cost: 0.05 us.
  void bind() const;
  /// The device that `bind` was last called for on the calling thread; null if there was none, or it is
  /// closed by now.
  [[nodiscard]] static const DeviceContext* bound_to_this_thread() noexcept;
  /// A guard that restores `bound_to_this_thread()` when it is destroyed, on the same thread. It does not
  /// change the current CUDA context.
  [[nodiscard]] static std::shared_ptr<void> keep_bound();
  /// A non-blocking stream of this context, made with it.
  [[nodiscard]] StreamView stream() const noexcept;
  /// Keeps the stream there while a copy lives, also beyond this object: for memory that is bound to it.
  [[nodiscard]] std::shared_ptr<const void> keep_stream() const noexcept;
  /// Waits for the stream. Throws `Error(job_fault)` if the work on it failed, or if a launch on the
  /// calling thread failed without being noticed. Blocks.
  void synchronize() const;
  /// Kernels compiled for this device.
  [[nodiscard]] ModuleCache& modules() const noexcept;
  /// Free device memory now, in bytes; what is current on the calling thread stays so. A simulated
  /// device says what it was made with. Throws `Error(job_fault)`.
  [[nodiscard]] std::int64_t free_memory_bytes() const;

  /// Lends the device an arena for `probe_backend` to hand out; null takes it back. It must outlive its use.
  void set_arena(Arena* arena) const noexcept;
  [[nodiscard]] Arena* arena() const noexcept;

  /// What `probe_backend_with_compile` keeps with the device.
  [[nodiscard]] detail::BackendOutcomes& backends() const noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Binds the calling thread to `cpuset` (CPUs as an hwloc list, "0-15,32-47") and reads the binding back.
///
/// Only CPUs that the process may use (those of its main thread) are taken; if none of `cpuset` is among
/// them, the thread is bound to all that the process may use, because what the batch system allows
/// comes first. Returns false if the list is unreadable or the system did not do it; an empty `cpuset`
/// binds nothing and is true. Cost: a few microseconds.
bool bind_thread_near(const std::string& cpuset);

}  // namespace tessera

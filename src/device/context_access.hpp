// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/context.hpp>

#include <memory>

namespace TESSERA_NAMESPACE {

class Arena;

namespace detail {

class BackendOutcomes;

struct ContextAccess {
  /// True in a forked child of a process that had opened a device, real or simulated, other than the host:
  /// CUDA does not work in the child.
  [[nodiscard]] static bool were_opened_before_fork() noexcept;

  /// A guard that restores `DeviceContext::bound_to_this_thread()` when it is destroyed, on the same thread.
  /// It does not change the current CUDA context.
  [[nodiscard]] static std::shared_ptr<void> keep_bound();

  /// The stream of a lane: for lane 0 the context's stream, else a stream that is created on first use and
  /// lives as long as the context. The device must be current. Throws `Error(job_fault)`. Thread-safe.
  [[nodiscard]] static StreamView stream(const DeviceContext& context, int lane);
  /// Like `DeviceContext::synchronize`, for any stream of the device.
  static void synchronize(const DeviceContext& context, StreamView stream);
  /// Shared ownership of the streams, for memory that is freed in stream order and may outlive the context.
  [[nodiscard]] static std::shared_ptr<const void> keep_streams(const DeviceContext& context) noexcept;

  struct OfTile {
    StreamView stream;
    Arena* arena = nullptr;  ///< not owned
  };
  /// Sets the stream and arena that `probe_backend` returns on this thread while the device is bound.
  static void set_tile(const DeviceContext& context, OfTile tile) noexcept;
  /// The stream and arena set on this thread; if none are set, the context's stream without an arena.
  [[nodiscard]] static OfTile tile(const DeviceContext& context) noexcept;

  /// The results of `probe_backend_with_compile` for the device.
  [[nodiscard]] static BackendOutcomes& backends(const DeviceContext& context) noexcept;
};

}  // namespace detail
}  // namespace TESSERA_NAMESPACE

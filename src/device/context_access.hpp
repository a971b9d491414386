// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/context.hpp>

#include <memory>

namespace tessera::inline TESSERA_ABI {

class Arena;

namespace detail {

class BackendOutcomes;

/// Private access of the library to a device's context.
struct ContextAccess {
  /// A guard that restores `DeviceContext::bound_to_this_thread()` when it is destroyed, on the same thread.
  /// It does not change the current CUDA context.
  [[nodiscard]] static std::shared_ptr<void> keep_bound();

  /// Shared ownership of the stream, also beyond the context: for memory that is bound to it.
  [[nodiscard]] static std::shared_ptr<const void> keep_stream(const DeviceContext& context) noexcept;

  /// Sets the arena that `probe_backend` returns, or null; not owned.
  static void set_arena(const DeviceContext& context, Arena* arena) noexcept;
  [[nodiscard]] static Arena* arena(const DeviceContext& context) noexcept;

  /// The results of `probe_backend_with_compile` for the device.
  [[nodiscard]] static BackendOutcomes& backends(const DeviceContext& context) noexcept;
};

}  // namespace detail
}  // namespace tessera::inline TESSERA_ABI

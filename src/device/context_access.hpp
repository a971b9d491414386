// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/context.hpp>

#include <memory>

namespace tessera::inline TESSERA_ABI {

class Arena;

namespace detail {

class BackendOutcomes;

/// What the library alone does with a device's context.
struct ContextAccess {
  /// A guard that restores `DeviceContext::bound_to_this_thread()` when it is destroyed, on the same thread.
  /// It does not change the current CUDA context.
  [[nodiscard]] static std::shared_ptr<void> keep_bound();

  /// Keeps the stream there while a copy lives, also beyond the context: for memory that is bound to it.
  [[nodiscard]] static std::shared_ptr<const void> keep_stream(const DeviceContext& context) noexcept;

  /// Lends the device an arena for `probe_backend` to hand out; null takes it back. It must outlive its use.
  static void set_arena(const DeviceContext& context, Arena* arena) noexcept;
  [[nodiscard]] static Arena* arena(const DeviceContext& context) noexcept;

  /// What `probe_backend_with_compile` keeps with the device.
  [[nodiscard]] static BackendOutcomes& backends(const DeviceContext& context) noexcept;
};

}  // namespace detail
}  // namespace tessera::inline TESSERA_ABI

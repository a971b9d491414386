// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/context.hpp>
#include <tessera/function.hpp>
#include <tessera/version.hpp>

#include <memory>
#include <string_view>
#include <type_traits>
#include <typeinfo>

namespace TESSERA_NAMESPACE {

class Arena;

/// The device bound to the calling thread, for the GPU backends of an application. Non-owning; valid as long
/// as the device is open.
struct BackendContext {
  const DeviceContext* device = nullptr;
  StreamView stream;  ///< in a device function, the tile's stream
  ComputeCapability capability;
  ModuleCache* modules = nullptr;
  Arena* arena = nullptr;  ///< memory for one tile; null outside of tiles
};

/// A backend's context and the result of its build step.
template <class Built>
struct CompiledBackend {
  BackendContext context;
  std::shared_ptr<const Built> built;
};

/// The entry point of a GPU backend: finds the device that the calling thread works on.
///
///     [](tessera::Tile& tile, std::span<const double> in, std::span<double> out) {
///       const auto [backend, square] = tessera::probe_backend_with_compile(
///           "square", [&](const tessera::BackendContext& context) {
///             return context.modules->load(source, context.capability).kernel("square");
///           });
///       launch(*square, {blocks}, {256}, 0, backend.stream, x, n);
///     }
///
/// In a device function the entry point finds the tile's device, elsewhere the device last bound by
/// `DeviceContext::bind`. That may be a simulated device, whose stream is null. Throws
/// `Error(device_absent)` if no device is bound, and `Error(job_fault)` if another one has become current
/// since; both name `label`. Thread-safe. Cost: 0.1 us.
[[nodiscard]] TESSERA_EXPORT BackendContext probe_backend(std::string_view label);

namespace detail {
using Erased = std::shared_ptr<const void>;
/// The result of `build`, which is called once for each label and device.
[[nodiscard]] TESSERA_EXPORT Erased build_once(const BackendContext& context, std::string_view label,
                                               const std::type_info& type, FunctionRef<Erased()> build);
}  // namespace detail

/// `probe_backend`, and the result of `build(context)`. `build` is called once for each label and device: its
/// result, or its failure with the reason, is kept as long as the device is open. Concurrent calls wait for
/// it; `build` must not probe the same label. The label identifies the result: everything that the result
/// depends on must be part of it.
///
/// Throws what `probe_backend` throws, `Error(job_fault)` with label, device and reason if `build` threw,
/// and `Error(usage)` if another type was built under this label.
template <class Build>
[[nodiscard]] auto probe_backend_with_compile(std::string_view label, Build&& build) {
  using Built = std::remove_cvref_t<std::invoke_result_t<Build&, const BackendContext&>>;
  const BackendContext context = probe_backend(label);
  const detail::Erased built = detail::build_once(context, label, typeid(Built), [&]() -> detail::Erased {
    return std::make_shared<const Built>(build(context));
  });
  return CompiledBackend<Built>{context, std::static_pointer_cast<const Built>(built)};
}

}  // namespace TESSERA_NAMESPACE

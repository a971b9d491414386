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

/// The device bound to the calling thread, for the GPU code of an application. Non-owning; valid as long as
/// the device is open.
struct BackendContext {
  const DeviceContext* device = nullptr;
  StreamView stream;  ///< in a device function, the tile's stream
  ComputeCapability capability;
  ModuleCache* modules = nullptr;
  Arena* arena = nullptr;  ///< memory of the current call of a device function; null elsewhere
};

/// The result of `probe_backend_with_compile`: the context, and the result of `build`.
template <class Built>
struct CompiledBackend {
  BackendContext context;
  std::shared_ptr<const Built> built;
};

/// Finds the device that the calling thread works on: the entry point of an application's GPU code.
///
///     [](tessera::Tile& tile, std::span<const double> in, std::span<double> out) {
///       const auto [backend, square] = tessera::probe_backend_with_compile(
///           "square", [&](const tessera::BackendContext& context) {
///             return context.modules->load(source, context.capability).kernel("square");
///           });
///       launch(*square, {blocks}, {256}, 0, backend.stream, x, n);
///     }
///
/// In a device function this is the tile's device, elsewhere the device last bound by `DeviceContext::bind`.
/// It may be a simulated device, whose stream is null. Throws `Error(device_absent)` if no device is bound,
/// and `Error(job_fault)` if another device has become current since; both messages name `label`.
/// Thread-safe. Cost: 0.1 us.
[[nodiscard]] TESSERA_EXPORT BackendContext probe_backend(std::string_view label);

namespace detail {
using Erased = std::shared_ptr<const void>;
/// The result of `build`, which is called once for each label and device.
[[nodiscard]] TESSERA_EXPORT Erased build_once(const BackendContext& context, std::string_view label,
                                               const std::type_info& type, FunctionRef<Erased()> build);
}  // namespace detail

/// Like `probe_backend`, with the cached result of `build(context)`. `build` is called once for each label
/// and device; its result, or its failure with the reason, is kept as long as the device is open. Concurrent
/// calls wait for the first one; `build` must not call this function with the same label. The label is the
/// cache key: it must contain everything that the result depends on.
///
/// Throws like `probe_backend`. Also throws `Error(job_fault)`, with label, device and reason, if `build`
/// threw, and `Error(usage)` if `build` had another result type under this label.
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

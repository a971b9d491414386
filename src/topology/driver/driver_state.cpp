// SPDX-License-Identifier: Apache-2.0
#include <tessera/topology/driver_state.hpp>

#include "topology/driver/find_devices.hpp"
#include "topology/driver/nvml_library.hpp"

namespace TESSERA_NAMESPACE {
namespace {

using nvml::call;
using nvml::Status;

std::optional<std::int64_t> ecc_errors(const nvml::Api& api, nvml::Device device, nvml::EccError kind) {
  unsigned long long count = 0;
  if (call(api.ecc_errors, device, kind, nvml::EccCounter::since_driver_load, &count) != Status::success)
    return std::nullopt;
  return static_cast<std::int64_t>(count);
}

/// Active NVLinks. Empty if every query fails; queries of missing links fail.
std::optional<int> active_links(const nvml::Api& api, nvml::Device device) {
  std::optional<int> links;
  for (unsigned link = 0; link < nvml::most_links; ++link) {
    unsigned active = 0;
    if (call(api.nvlink_state, device, link, &active) == Status::success)
      links = links.value_or(0) + (active != 0 ? 1 : 0);
  }
  return links;
}

DeviceCondition condition_of(const nvml::Api& api, const DeviceInfo& device) {
  DeviceCondition condition;
  nvml::Device handle = nullptr;
  if (device.has_host_memory() ||
      call(api.device_by_uuid, to_string(device.uuid).c_str(), &handle) != Status::success)
    return condition;
  condition.corrected_errors = ecc_errors(api, handle, nvml::EccError::corrected);
  condition.uncorrected_errors = ecc_errors(api, handle, nvml::EccError::uncorrected);
  unsigned corrected = 0;
  unsigned uncorrected = 0;
  unsigned pending = 0;
  unsigned failed = 0;
  if (call(api.remapped_rows, handle, &corrected, &uncorrected, &pending, &failed) == Status::success) {
    condition.remapped_rows = static_cast<int>(corrected + uncorrected);
    condition.remapping_needs_reset = pending != 0;
  }
  condition.active_links = active_links(api, handle);
  return condition;
}

}  // namespace

DriverState driver_state(std::span<const DeviceInfo> devices) {
  DriverState state;
  state.devices.resize(devices.size());
  const detail::NvmlLibrary library;
  if (!library.found() || library.status() != Status::success) return state;
  const nvml::Api& api = library.api();
  state.version = nvml::text_of(api.driver_version);
  int cuda = 0;
  if (call(api.cuda_driver_version, &cuda) == Status::success) state.cuda = detail::version_text(cuda);
  for (std::size_t i = 0; i < devices.size(); ++i) state.devices[i] = condition_of(api, devices[i]);
  return state;
}

std::string cuda_version_of_build() {
#ifdef TESSERA_CUDA_VERSION
  return detail::version_text(TESSERA_CUDA_VERSION);
#else
  return {};
#endif
}

}  // namespace TESSERA_NAMESPACE

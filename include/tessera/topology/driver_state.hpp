// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/topology/device_info.hpp>
#include <tessera/version.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE {

/// The condition of a device. Values that the driver does not report are empty; all values of a simulated
/// device are.
struct DeviceCondition {
  std::optional<std::int64_t> corrected_errors;  ///< corrected ECC memory errors since the driver was loaded
  std::optional<std::int64_t> uncorrected_errors;  ///< uncorrected ones; do not use a device with such errors
  std::optional<int> remapped_rows;                ///< memory rows replaced because of errors
  std::optional<bool> remapping_needs_reset;       ///< a row is replaced when the device is next reset
  std::optional<int> active_links;                 ///< NVLinks that are up
};

/// The version of this node's driver, and the condition of its devices.
struct DriverState {
  std::string version;  ///< "580.95.05"; empty if there is no driver that works
  std::string cuda;     ///< the newest CUDA that it supports, "13.0"; empty without such a driver
  std::vector<DeviceCondition> devices;  ///< one for each requested device
};

/// Queries NVML, which the call opens and closes. Makes no CUDA call. A driver that is missing or fails is
/// not an error. Not collective. Thread-safe. Blocks. Cost: about 60 ms for one GPU.
[[nodiscard]] TESSERA_EXPORT DriverState driver_state(std::span<const DeviceInfo> devices);

/// The version of CUDA that the library was built with, "13.0"; empty if it was built without.
[[nodiscard]] TESSERA_EXPORT std::string cuda_version_of_build();

}  // namespace TESSERA_NAMESPACE

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

/// The condition of a device. Values that the driver does not report are empty, and so are all values of a
/// simulated device.
struct DeviceCondition {
  std::optional<std::int64_t> corrected_errors;  ///< corrected ECC memory errors since the driver was loaded
  std::optional<std::int64_t> uncorrected_errors;  ///< uncorrected ECC errors: do not use such a device
  std::optional<int> remapped_rows;                ///< memory rows replaced because of errors
  std::optional<bool> remapping_needs_reset;       ///< a row will be replaced at the next reset of the device
  std::optional<int> active_links;                 ///< NVLinks that are up
};

/// The version of this node's driver, and the condition of its devices.
struct DriverState {
  std::string version;  ///< "580.95.05"; empty without a working driver
  std::string cuda;  ///< newest CUDA version that the driver supports, "13.0"; empty without a working driver
  std::vector<DeviceCondition> devices;  ///< one for each requested device
};

/// Queries NVML, which the call opens and closes. Makes no CUDA call. A driver that is missing or fails is
/// not an error. Not collective. Thread-safe. Blocks. Cost: about 60 ms for one GPU.
[[nodiscard]] TESSERA_EXPORT DriverState driver_state(std::span<const DeviceInfo> devices);

/// The version of CUDA that the library was built with, "13.0"; empty if it was built without.
[[nodiscard]] TESSERA_EXPORT std::string cuda_version_of_build();

}  // namespace TESSERA_NAMESPACE

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "topology/driver/survey.hpp"
#include "topology/driver/visible_devices.hpp"

namespace TESSERA_NAMESPACE::detail {

/// "13.0" for 13000, which is how CUDA encodes versions.
[[nodiscard]] std::string version_text(int version);

struct FoundDevices {
  std::vector<DeviceInfo> devices;    ///< usable devices, in CUDA's order
  std::optional<Absence> absence;     ///< present exactly when `devices` is empty
  std::vector<std::string> broken{};  ///< broken devices found by the survey
};

/// The usable devices of a survey, or the reason why there are none. `built_with` is the CUDA version of this
/// build, 1000 x major + 10 x minor. A build needs a driver of the same major version or newer (CUDA
/// Compatibility, "minor version compatibility"), and devices that its compiler still supports. Pure.
[[nodiscard]] FoundDevices find_devices(const Survey& survey, const CudaEnvironment& env, int built_with);

/// Removes the devices that are not in `started_with`, the devices with which CUDA was initialised in this
/// process. Pure.
void leave_only(std::span<const Uuid> started_with, FoundDevices& found);

}  // namespace TESSERA_NAMESPACE::detail

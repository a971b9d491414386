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

/// "13.0" for 13000, as CUDA counts.
[[nodiscard]] std::string version_text(int version);

struct FoundDevices {
  std::vector<DeviceInfo> devices;    ///< in CUDA's order
  std::optional<Absence> absence;     ///< present exactly when `devices` is empty
  std::vector<std::string> broken{};  ///< from the survey
};

/// The usable devices of a survey, or the reason why there are none. `built_with` is the CUDA version of the
/// build, 1000 x major + 10 x minor: a driver of an older major version cannot run it (CUDA Compatibility,
/// "minor version compatibility"), and a device older than its compiler's oldest target cannot either. Pure.
[[nodiscard]] FoundDevices find_devices(const Survey& survey, const CudaEnvironment& env, int built_with);

/// Removes the devices that CUDA, initialised in this process with the devices `started_with`, cannot access.
/// Pure.
void leave_only(std::span<const Uuid> started_with, FoundDevices& found);

}  // namespace TESSERA_NAMESPACE::detail

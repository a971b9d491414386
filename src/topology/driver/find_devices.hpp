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

/// Decodes CUDA's version number: 13000 is "13.0".
[[nodiscard]] std::string version_text(int version);

struct FoundDevices {
  std::vector<DeviceInfo> devices;
  std::optional<Absence> absence;  ///< present exactly when `devices` is empty
  std::vector<std::string> broken{};
};

/// The usable devices of a survey in CUDA's order, or the reason for their absence. `built_with` is the CUDA
/// version of this build, 1000 x major + 10 x minor. A build needs a driver of at least the same major
/// version (CUDA Compatibility, "minor version compatibility"), and devices that its compiler supports. Pure
/// function.
[[nodiscard]] FoundDevices find_devices(const Survey& survey, const CudaEnvironment& env, int built_with);

/// Removes devices other than those with which CUDA was initialised in this process. Pure function.
void leave_only(std::span<const Uuid> started_with, FoundDevices& found);

}  // namespace TESSERA_NAMESPACE::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/topology/device_info.hpp>

#include <optional>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::detail {

/// One MIG instance of a GPU: a compute instance inside a GPU instance.
struct MigInstance {
  DeviceInfo info;
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
};

/// One physical GPU that this process may open.
struct Gpu {
  DeviceInfo info;
  bool mig_mode = false;  ///< whether it is usable only through its instances
  std::vector<MigInstance> instances;
};

/// The driver's report, as plain data, so that tests can construct it.
struct Survey {
  std::vector<Gpu> gpus;                ///< GPUs that this process may open
  std::vector<std::string> unreadable;  ///< reasons why the other GPUs cannot be opened, one for each
  /// The GPUs of `unreadable`, and the MIG instances, that fail for another reason than lacking permission:
  /// "GPU 1: GPU is lost".
  std::vector<std::string> broken;
  int cuda_version = 0;            ///< supported by the driver, 1000 x major + 10 x minor
  std::optional<Absence> absence;  ///< present if the driver could not be queried
};

/// Queries the driver through NVML, which is opened and closed here. Creates no context and does not
/// initialise CUDA. Failures of the driver are reported in the result, not thrown. Cost: about 60 ms for one
/// GPU, 130 ms for 8.
[[nodiscard]] Survey survey_nvml();

}  // namespace TESSERA_NAMESPACE::detail

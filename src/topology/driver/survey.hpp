// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/topology/device_info.hpp>

#include <optional>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::detail {

/// A MIG compute instance in a GPU instance.
struct MigInstance {
  DeviceInfo info;
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
};

/// A physical GPU that this process may open.
struct Gpu {
  DeviceInfo info;
  bool mig_mode = false;  ///< whether it is usable only through its instances
  std::vector<MigInstance> instances;
};

/// What the driver reports about the node's GPUs. Plain data, so that tests can construct it.
struct Survey {
  std::vector<Gpu> gpus;
  std::vector<std::string> unreadable;  ///< for each other GPU, why it cannot be opened
  /// The GPUs of `unreadable` and MIG instances that fail for a reason other than permissions: "GPU 1: GPU is
  /// lost".
  std::vector<std::string> broken;
  int cuda_version = 0;            ///< maximum of the driver, 1000 x major + 10 x minor
  std::optional<Absence> absence;  ///< present if the driver could not be queried
};

/// Queries the driver through NVML, without a CUDA context and without initialising CUDA. Does not throw for
/// errors of the driver. Cost: about 60 ms for one GPU, 130 ms for 8.
[[nodiscard]] Survey survey_nvml();

}  // namespace TESSERA_NAMESPACE::detail

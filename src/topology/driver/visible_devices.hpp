// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "topology/driver/survey.hpp"

namespace TESSERA_NAMESPACE::detail {

/// The variables by which CUDA selects and orders devices; empty if not set.
struct CudaEnvironment {
  std::optional<std::string> visible_devices;  ///< CUDA_VISIBLE_DEVICES
  std::optional<std::string> device_order;     ///< CUDA_DEVICE_ORDER

  [[nodiscard]] static CudaEnvironment current();
};

/// The devices that CUDA would enumerate, in CUDA's order. Pure function.
///
///     visible_devices(gpus, {.visible_devices = "2,0"})  ->  {gpus[2], gpus[0]}
///
/// Order: by PCI id if CUDA_DEVICE_ORDER is PCI_BUS_ID. Otherwise (FASTEST_FIRST) CUDA uses an undocumented
/// heuristic, approximated here by FP32 rate (multiprocessors x lanes x clock), then PCI id.
///
/// If CUDA_VISIBLE_DEVICES is not set, every GPU is visible; if empty, none. An entry is an index parsed like
/// `strtol` ("1x" is 1), an unambiguous prefix of a UUID ("GPU-89", "MIG-c6d4"), or the old form
/// "MIG-GPU-<uuid>/<GPU instance>/<compute instance>". The list ends at the first entry that matches no
/// device or is of another kind than the first entry. A repeated device makes the list empty.
///
/// A GPU in MIG mode is usable only through its MIG instances: all if the variable is not set, the first if
/// the GPU is named. Of the compute instances inside one GPU instance CUDA enumerates only the first (MIG
/// User Guide, "CUDA Device Enumeration", drivers from 570 on).
[[nodiscard]] std::vector<DeviceInfo> visible_devices(std::span<const Gpu> gpus, const CudaEnvironment& env);

}  // namespace TESSERA_NAMESPACE::detail

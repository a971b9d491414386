// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "topology/driver/survey.hpp"

namespace TESSERA_NAMESPACE::detail {

/// The two variables by which CUDA chooses and numbers devices; empty where one is not set.
struct CudaEnvironment {
  std::optional<std::string> visible_devices;  ///< CUDA_VISIBLE_DEVICES
  std::optional<std::string> device_order;     ///< CUDA_DEVICE_ORDER

  [[nodiscard]] static CudaEnvironment current();
};

/// The devices that CUDA would enumerate, in its order. Pure.
///
///     visible_devices(gpus, {.visible_devices = "2,0"})  ->  {gpus[2], gpus[0]}
///
/// Numbering: with CUDA_DEVICE_ORDER=PCI_BUS_ID by PCI id. Otherwise (FASTEST_FIRST) CUDA's own
/// heuristic, which is not documented, is approximated by FP32 rate (multiprocessors x lanes x
/// clock), then PCI id; with GPUs of one model that is PCI order.
///
/// If CUDA_VISIBLE_DEVICES is not set, every GPU is visible; if empty, none. An entry is an index, read as
/// `strtol` would ("1x" is 1), or the beginning of a UUID ("GPU-89", "MIG-c6d4") that only one device has, or
/// the old "MIG-GPU-<uuid>/<GPU instance>/<compute instance>". The list ends at the first entry that matches
/// no device, or whose kind differs from the first entry's; a repeated device makes it empty.
///
/// A GPU in MIG mode is usable only through its instances: all of them if the variable is not set,
/// the first one if the GPU is named. Of the compute instances inside one GPU instance CUDA enumerates
/// only the first (MIG User Guide, "CUDA Device Enumeration", drivers from 570 on).
[[nodiscard]] std::vector<DeviceInfo> visible_devices(std::span<const Gpu> gpus, const CudaEnvironment& env);

}  // namespace TESSERA_NAMESPACE::detail

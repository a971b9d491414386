// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/topology/device_info.hpp>

#include <span>
#include <string>

namespace TESSERA_NAMESPACE::detail {

// Properties of an architecture that the driver does not report, by compute capability. Source: CUDA C++
// Programming Guide, tables "Arithmetic Instructions" (throughput for each compute capability) and "Technical
// Specifications".

/// FP32 lanes of one multiprocessor, which NVML counts as cores.
[[nodiscard]] int cores_per_multiprocessor(ComputeCapability capability) noexcept;

/// FP64 fused multiply-adds that one multiprocessor starts in a clock, tensor cores left out.
[[nodiscard]] int fp64_lanes_per_multiprocessor(ComputeCapability capability) noexcept;

/// Whether GPUs of this capability share the host's memory (Jetson, Thor, GB10).
[[nodiscard]] bool shares_host_memory(ComputeCapability capability) noexcept;

/// The best target for a device among those that a compiler supports (90 for 9.0): the newest that is not
/// newer than the device. "sm_90" (machine code) if its major version is the device's, since machine code
/// only runs on later minor versions; else "compute_90" (PTX, which the driver compiles). Empty if all
/// targets are newer.
[[nodiscard]] std::string code_target(ComputeCapability capability, std::span<const int> known);

}  // namespace TESSERA_NAMESPACE::detail

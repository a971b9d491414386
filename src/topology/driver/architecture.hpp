// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/topology/device_info.hpp>

#include <span>
#include <string>

namespace TESSERA_NAMESPACE::detail {

// Properties of architectures that the driver does not report. Source: CUDA C++ Programming Guide, tables
// "Arithmetic Instructions" (throughput for each compute capability) and "Technical Specifications".

/// FP32 lanes, which NVML calls cores.
[[nodiscard]] int cores_per_multiprocessor(ComputeCapability capability) noexcept;

/// FP64 fused multiply-adds per clock, without tensor cores.
[[nodiscard]] int fp64_lanes_per_multiprocessor(ComputeCapability capability) noexcept;

/// Whether GPUs of this capability share the host's memory (Jetson, Thor, GB10).
[[nodiscard]] bool shares_host_memory(ComputeCapability capability) noexcept;

/// The newest of a compiler's targets (90 for 9.0) that is not newer than the device. It is "sm_90" (machine
/// code) if the major versions agree, because machine code does not run on other major versions; else
/// "compute_90" (PTX, which the driver compiles). Empty if all targets are newer.
[[nodiscard]] std::string code_target(ComputeCapability capability, std::span<const int> known);

}  // namespace TESSERA_NAMESPACE::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/topology/device_info.hpp>

namespace tessera::detail {

// Figures of an architecture that the driver does not tell, by compute capability.
// Source: CUDA C++ Programming Guide, tables "Arithmetic Instructions" (throughput for each
// compute capability) and "Technical Specifications".

/// FP32 lanes of one multiprocessor: what NVML counts as cores.
[[nodiscard]] int cores_per_multiprocessor(ComputeCapability capability) noexcept;

/// FP64 fused multiply-adds that one multiprocessor starts in a clock, tensor cores left out.
[[nodiscard]] int fp64_lanes_per_multiprocessor(ComputeCapability capability) noexcept;

/// Whether GPUs of this capability share the host's memory (Jetson, Thor, GB10).
[[nodiscard]] bool shares_host_memory(ComputeCapability capability) noexcept;

}  // namespace tessera::detail

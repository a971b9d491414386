// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/memory/upstream.hpp>
#include <tessera/topology/device_info.hpp>

#include <memory>

/// Implemented by `cuda_upstream.cpp`, or by `no_cuda_upstream.cpp` in builds without CUDA.
namespace tessera::cuda {

/// The device's primary context must exist. The upstream shares ownership of `streams`.
[[nodiscard]] std::unique_ptr<MemoryUpstream> make_upstream(Ordinal ordinal,
                                                            std::shared_ptr<const void> streams);
/// Like `make_upstream`, for a driver without memory pools. Only in builds with CUDA.
[[nodiscard]] std::unique_ptr<MemoryUpstream> make_malloc_upstream(Ordinal ordinal,
                                                                   std::shared_ptr<const void> streams);

}  // namespace tessera::cuda

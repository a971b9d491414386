// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/memory/upstream.hpp>
#include <tessera/topology/device_info.hpp>

#include <memory>

/// `cuda_upstream.cpp` answers where CUDA is built, `no_cuda_upstream.cpp` refuses where it is not.
namespace tessera::cuda {

/// Memory of the device with this index. Its primary context must be there. `stream` is held as long as there
/// is memory.
[[nodiscard]] std::unique_ptr<MemoryUpstream> make_upstream(Ordinal ordinal,
                                                            std::shared_ptr<const void> stream,
                                                            UpstreamKind kind);

}  // namespace tessera::cuda

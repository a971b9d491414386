// SPDX-License-Identifier: Apache-2.0
#include "memory/cuda_upstream.hpp"

#include <tessera/error.hpp>

namespace tessera::cuda {

// NOLINTNEXTLINE(performance-unnecessary-value-param): in a build with CUDA this function keeps the stream
std::unique_ptr<MemoryUpstream> make_upstream(Ordinal, std::shared_ptr<const void>) {
  throw Error(ErrorCode::job_fault,
              "this build of Tessera has no CUDA: configure it with TESSERA_ENABLE_CUDA=ON to use GPUs");
}

}  // namespace tessera::cuda

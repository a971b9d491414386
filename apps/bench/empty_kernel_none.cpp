// SPDX-License-Identifier: Apache-2.0
#include "empty_kernel.hpp"

#include <tessera/error.hpp>

namespace tessera::bench {

void launch_empty_kernel(StreamView) {
  throw Error(ErrorCode::job_fault, "this build has no CUDA: configure it with TESSERA_ENABLE_CUDA=ON");
}

}  // namespace tessera::bench

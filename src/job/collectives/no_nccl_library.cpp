// SPDX-License-Identifier: Apache-2.0
#include "job/collectives/nccl_library.hpp"

#include <tessera/error.hpp>

namespace tessera::nccl {

std::unique_ptr<Library> open() {
  throw Error(ErrorCode::device_absent,
              "this build of Tessera has no NCCL: configure it with TESSERA_ENABLE_NCCL=ON to use it");
}

}  // namespace tessera::nccl

// SPDX-License-Identifier: Apache-2.0
#include "device_work.hpp"

#include <tessera/error.hpp>

namespace tessera::bench {
namespace {

[[noreturn]] void refuse() {
  throw Error(ErrorCode::job_fault, "this build has no CUDA: configure it with TESSERA_ENABLE_CUDA=ON");
}

}  // namespace

DeviceZeros::DeviceZeros(std::size_t) {
  refuse();
}
DeviceZeros::~DeviceZeros() = default;

}  // namespace tessera::bench

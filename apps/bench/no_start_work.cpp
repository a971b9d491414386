// SPDX-License-Identifier: Apache-2.0
#include "start_work.hpp"

#include <tessera/error.hpp>

namespace tessera::bench {
namespace {

[[noreturn]] void fail() {
  throw Error(ErrorCode::job_fault,
              "tessera-bench was built without CUDA: configure with TESSERA_ENABLE_CUDA=ON");
}

}  // namespace

void iterate_on_device(double*, std::int64_t, int, StreamView) {
  fail();
}
double first_kernels_in_plain_cuda() {
  fail();
}
void occupy_gpus(double) {
  fail();
}

}  // namespace tessera::bench

// SPDX-License-Identifier: Apache-2.0
#include "empty_kernel.hpp"

#include <tessera/error.hpp>

#include <cuda_runtime.h>

#include <string>

namespace tessera::bench {
namespace {

__global__ void empty_kernel() {}

}  // namespace

void launch_empty_kernel(StreamView stream) {
  empty_kernel<<<1, 1, 0, static_cast<cudaStream_t>(stream.native())>>>();
  if (const cudaError_t status = cudaGetLastError(); status != cudaSuccess)
    throw Error(ErrorCode::job_fault, std::string("an empty kernel: ") + cudaGetErrorString(status));
}

}  // namespace tessera::bench

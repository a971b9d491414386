// SPDX-License-Identifier: Apache-2.0
#include "device_work.hpp"

#include <tessera/error.hpp>

#include <cuda_runtime.h>

#include <string>

namespace tessera::bench {
namespace {

__global__ void empty_kernel() {}

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess)
    throw Error(ErrorCode::job_fault, std::string(what) + ": " + cudaGetErrorString(status));
}

}  // namespace

void launch_empty_kernel(StreamView stream) {
  empty_kernel<<<1, 1, 0, static_cast<cudaStream_t>(stream.native())>>>();
  check(cudaGetLastError(), "an empty kernel");
}

DeviceZeros::DeviceZeros(std::size_t bytes) {
  check(cudaMalloc(&data_, bytes), "cudaMalloc");
  check(cudaMemset(data_, 0, bytes), "cudaMemset");
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}
DeviceZeros::~DeviceZeros() {
  (void)cudaFree(data_);
}

}  // namespace tessera::bench

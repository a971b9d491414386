// SPDX-License-Identifier: Apache-2.0
#include "device_work.hpp"

#include "cuda_check.cuh"

#include <cuda_runtime.h>

#include <string>

namespace tessera::bench {

DeviceZeros::DeviceZeros(std::size_t bytes) {
  check(cudaMalloc(&data_, bytes), "cudaMalloc");
  check(cudaMemset(data_, 0, bytes), "cudaMemset");
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}
DeviceZeros::~DeviceZeros() {
  (void)cudaFree(data_);
}

}  // namespace tessera::bench

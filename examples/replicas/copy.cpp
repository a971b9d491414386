// SPDX-License-Identifier: Apache-2.0
#include "copy.hpp"

#include <cuda_runtime_api.h>

#include <cstring>
#include <stdexcept>

void copy(void* to, const void* from, std::size_t bytes, tessera::StreamView stream) {
  if (stream.native() == nullptr) {
    std::memcpy(to, from, bytes);
    return;
  }
  const cudaError_t status =
      cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, static_cast<cudaStream_t>(stream.native()));
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

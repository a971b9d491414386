// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

#include <span>
#include <stdexcept>
#include <tessera/tessera.hpp>

namespace {

__global__ void to_celsius(double* degrees, std::size_t count) {
  const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  if (i < count) degrees[i] = (degrees[i] - 32) / 1.8;
}

void check(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

}  // namespace

void to_celsius_on_device(tessera::Tile& tile, std::span<double> degrees) {
  const auto stream = static_cast<cudaStream_t>(tile.stream().native());
  // Returned to the pool at the end, while the stream may still use it: whoever is given it next comes after
  // that.
  const tessera::Buffer<double> values = tile.buffers().take<double>(degrees.size(), tile.stream());

  check(cudaMemcpyAsync(values.data(), degrees.data(), degrees.size_bytes(), cudaMemcpyHostToDevice, stream));
  constexpr unsigned threads = 256;
  const auto blocks = static_cast<unsigned>((degrees.size() + threads - 1) / threads);
  to_celsius<<<blocks, threads, 0, stream>>>(values.data(), degrees.size());
  check(cudaGetLastError());
  check(cudaMemcpyAsync(degrees.data(), values.data(), degrees.size_bytes(), cudaMemcpyDeviceToHost, stream));
}

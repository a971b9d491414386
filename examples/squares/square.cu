// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

#include <span>
#include <stdexcept>
#include <tessera/tessera.hpp>

namespace {

__global__ void square(double* values, std::size_t count) {
  const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  if (i < count) values[i] *= values[i];
}

/// What is thrown here fails the tile, and the whole job falls back to the CPU.
void check(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

}  // namespace

void square_on_device(tessera::Tile& tile, std::span<const double> in, std::span<double> out) {
  const auto stream = static_cast<cudaStream_t>(tile.stream().native());
  auto* const values = tile.arena().take<double>(in.size());  // device memory for this call alone

  check(cudaMemcpyAsync(values, in.data(), in.size_bytes(), cudaMemcpyHostToDevice, stream));
  constexpr unsigned threads = 256;
  const auto blocks = static_cast<unsigned>((in.size() + threads - 1) / threads);
  square<<<blocks, threads, 0, stream>>>(values, in.size());
  check(cudaGetLastError());
  check(cudaMemcpyAsync(out.data(), values, out.size_bytes(), cudaMemcpyDeviceToHost, stream));
}

// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <tessera/tessera.hpp>
#include <vector>

namespace {

/// A thread for each block of units, in the order of the units: plain, and the same bits on every GPU.
__global__ void block_sums(const double* values, std::int64_t count, std::int64_t block, double* sums) {
  const std::int64_t b = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
  if (b * block >= count) return;
  double sum = 0;
  double squares = 0;
  for (std::int64_t i = b * block; i < min(count, (b + 1) * block); ++i) {
    sum += values[i];
    squares += values[i] * values[i];
  }
  sums[2 * b] = sum;
  sums[2 * b + 1] = squares;
}

void check(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

}  // namespace

void moments_on_device(tessera::Tile& tile, std::span<const double> values, std::int64_t first,
                       std::int64_t block, tessera::ReproducibleSum& sum) {
  const auto stream = static_cast<cudaStream_t>(tile.stream().native());
  const std::int64_t count = tile.range().size();
  const std::int64_t blocks =
      (count + block - 1) / block;  // a tile is whole blocks; the job's last may be short
  auto* const on_device = tile.arena().take<double>(static_cast<std::size_t>(count));
  auto* const sums_on_device = tile.arena().take<double>(static_cast<std::size_t>(2 * blocks));
  std::vector<double> sums(static_cast<std::size_t>(2 * blocks));

  check(cudaMemcpyAsync(on_device, values.data() + (tile.range().begin - first),
                        static_cast<std::size_t>(count) * sizeof(double), cudaMemcpyHostToDevice, stream));
  constexpr unsigned threads = 64;
  block_sums<<<static_cast<unsigned>((blocks + threads - 1) / threads), threads, 0, stream>>>(
      on_device, count, block, sums_on_device);
  check(cudaGetLastError());
  check(cudaMemcpyAsync(sums.data(), sums_on_device, sums.size() * sizeof(double), cudaMemcpyDeviceToHost,
                        stream));
  check(cudaStreamSynchronize(stream));
  for (std::size_t b = 0; b < sums.size(); b += 2) sum.add(std::span(sums).subspan(b, 2));
}

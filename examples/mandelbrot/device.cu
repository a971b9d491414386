// SPDX-License-Identifier: Apache-2.0
#include "mandelbrot.hpp"

#include <cuda_runtime.h>

#include <cstdint>
#include <span>
#include <stdexcept>
#include <tessera/tessera.hpp>

namespace {

/// A thread for each point; `blockIdx.y` is the row of `part`, whose first is the row `first` of the grid.
__global__ void scan_points(Row* part, std::int64_t first, int pass) {
  const std::int64_t column = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
  if (column >= columns) return;
  const int steps = steps_of(first + blockIdx.y, column, pass);
  Row& row = part[blockIdx.y];
  atomicAdd(&row.steps, static_cast<unsigned long long>(steps));
  if (steps == most_steps) atomicAdd(&row.inside, 1ULL);
}

/// What is thrown here fails the tile, and the whole job falls back to the CPU.
void check(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

}  // namespace

void scan_on_device(tessera::Tile& tile, std::span<Row> part, int pass) {
  const auto stream = static_cast<cudaStream_t>(tile.stream().native());
  auto* const on_device = tile.arena().take<Row>(part.size());
  for (Row& row : part) row.steps = 0;
  check(cudaMemcpyAsync(on_device, part.data(), part.size_bytes(), cudaMemcpyHostToDevice, stream));
  constexpr unsigned threads = 128;
  const dim3 blocks((columns + threads - 1) / threads, static_cast<unsigned>(part.size()));
  scan_points<<<blocks, threads, 0, stream>>>(on_device, tile.range().begin, pass);
  check(cudaGetLastError());
  check(cudaMemcpyAsync(part.data(), on_device, part.size_bytes(), cudaMemcpyDeviceToHost, stream));
}

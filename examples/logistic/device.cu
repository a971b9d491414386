// SPDX-License-Identifier: Apache-2.0
#include "logistic.hpp"

#include <cuda_runtime.h>

#include <stdexcept>
#include <vector>

namespace {

constexpr unsigned threads = 128;

__global__ void fill_margins(const double* features, double* margins, std::int64_t rows, Weights weights) {
  const std::int64_t row = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
  if (row < rows) margins[row] = margin(features + row * columns, weights);
}

/// A thread for each block of rows, in their order: plain, and the same bits on every GPU.
__global__ void sum_blocks(const double* features, const double* labels, const double* margins,
                           std::int64_t rows, double* sums) {
  const std::int64_t b = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
  if (b * block >= rows) return;
  double partial[columns] = {};
  for (std::int64_t row = b * block; row < min(rows, (b + 1) * block); ++row) {
    const double error = labels[row] - 1 / (1 + exp(-margins[row]));
    for (int column = 0; column < columns; ++column)
      partial[column] += error * features[row * columns + column];
  }
  for (int column = 0; column < columns; ++column) sums[b * columns + column] = partial[column];
}

void check(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

cudaStream_t stream_of(const tessera::Tile& tile) {
  return static_cast<cudaStream_t>(tile.stream().native());
}

unsigned groups_of(std::int64_t count) {
  return static_cast<unsigned>((count + threads - 1) / threads);
}

}  // namespace

void margins_on_device(tessera::Tile& tile, std::span<const double> features, std::span<double> margins,
                       const Weights& weights) {
  const std::int64_t rows = tile.range().size();
  fill_margins<<<groups_of(rows), threads, 0, stream_of(tile)>>>(features.data(), margins.data(), rows,
                                                                 weights);
  check(cudaGetLastError());
}

void gradient_on_device(tessera::Tile& tile, tessera::ReproducibleSum& sum, std::span<const double> features,
                        std::span<const double> labels, std::span<const double> margins) {
  const std::int64_t rows = tile.range().size();
  const std::int64_t blocks =
      (rows + block - 1) / block;  // a tile is whole blocks; the job's last may be short
  std::vector<double> sums(static_cast<std::size_t>(blocks * columns));
  auto* const on_device = tile.arena().take<double>(sums.size());
  sum_blocks<<<groups_of(blocks), threads, 0, stream_of(tile)>>>(features.data(), labels.data(),
                                                                 margins.data(), rows, on_device);
  check(cudaGetLastError());
  check(cudaMemcpyAsync(sums.data(), on_device, sums.size() * sizeof(double), cudaMemcpyDeviceToHost,
                        stream_of(tile)));
  check(cudaStreamSynchronize(stream_of(tile)));
  for (std::size_t b = 0; b < sums.size(); b += columns) sum.add(std::span(sums).subspan(b, columns));
}

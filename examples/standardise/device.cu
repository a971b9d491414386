// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

#include <stdlib.h>

#include "device.h"

namespace {

/// A thread for each block of units, in the order of the units: plain, and the same bits on every GPU.
__global__ void block_sums(const double* values, int64_t count, int64_t block, double* sums) {
  const int64_t b = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (b * block >= count) return;
  double sum = 0;
  double squares = 0;
  for (int64_t i = b * block; i < min(count, (b + 1) * block); ++i) {
    sum += values[i];
    squares += values[i] * values[i];
  }
  sums[2 * b] = sum;
  sums[2 * b + 1] = squares;
}

__global__ void standardise(double* values, int64_t count, double mean, double deviation) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < count) values[i] = (values[i] - mean) / deviation;
}

constexpr int threads = 128;

unsigned blocks_for(int64_t count) {
  return static_cast<unsigned>((count + threads - 1) / threads);
}

/// Fails the tile if one of the calls has failed.
int ended(tessera_tile* tile, cudaError_t status) {
  if (status == cudaSuccess) return 0;
  tessera_tile_fail(tile, cudaGetErrorString(status));
  return 1;
}

/// The tile's values in device memory, copied on its stream; null if the tile has failed.
double* copied_to_device(tessera_tile* tile, const double* values, int64_t count) {
  const auto stream = static_cast<cudaStream_t>(tessera_tile_stream(tile));
  const size_t bytes = static_cast<size_t>(count) * sizeof(double);
  auto* const copy = static_cast<double*>(tessera_tile_memory(tile, bytes));
  if (copy == nullptr ||
      ended(tile, cudaMemcpyAsync(copy, values, bytes, cudaMemcpyHostToDevice, stream)) != 0)
    return nullptr;
  return copy;
}

}  // namespace

int moments_on_device(tessera_tile* tile, tessera_sum* sum, void* context) {
  const auto* const sample = static_cast<const struct sample*>(context);
  const auto stream = static_cast<cudaStream_t>(tessera_tile_stream(tile));
  const tessera_range range = tessera_tile_range(tile);
  const int64_t count = range.end - range.begin;
  const int64_t blocks = (count + sample->block - 1) / sample->block;
  const size_t bytes = static_cast<size_t>(2 * blocks) * sizeof(double);
  const double* const values = copied_to_device(tile, sample->values + (range.begin - sample->first), count);
  auto* const sums = static_cast<double*>(tessera_tile_memory(tile, bytes));
  auto* const on_host = static_cast<double*>(malloc(bytes));
  if (values == nullptr || sums == nullptr || on_host == nullptr) {
    free(on_host);
    return 1;
  }
  block_sums<<<blocks_for(blocks), threads, 0, stream>>>(values, count, sample->block, sums);
  cudaError_t status = cudaMemcpyAsync(on_host, sums, bytes, cudaMemcpyDeviceToHost, stream);
  if (status == cudaSuccess) status = cudaStreamSynchronize(stream);
  int failed = ended(tile, status);
  for (int64_t b = 0; b < blocks && failed == 0; ++b) failed = tessera_sum_add(sum, on_host + 2 * b);
  free(on_host);
  return failed;
}

int standardise_on_device(tessera_tile* tile, void* units, void* context) {
  const auto* const sample = static_cast<const struct sample*>(context);
  const auto stream = static_cast<cudaStream_t>(tessera_tile_stream(tile));
  const tessera_range range = tessera_tile_range(tile);
  const int64_t count = range.end - range.begin;
  double* const values = copied_to_device(tile, static_cast<const double*>(units), count);
  if (values == nullptr) return 1;
  standardise<<<blocks_for(count), threads, 0, stream>>>(values, count, sample->mean, sample->deviation);
  return ended(tile, cudaMemcpyAsync(units, values, static_cast<size_t>(count) * sizeof(double),
                                     cudaMemcpyDeviceToHost, stream));
}

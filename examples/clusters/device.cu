// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

#include <stdlib.h>

#include "clusters.h"

namespace {

__global__ void label(const struct point* points, int32_t* labels, int64_t count, struct centres centres) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < count) labels[i] = nearest(&centres, points[i]);
}

/// A thread for each block of points, in their order: plain, and the same bits on every GPU.
__global__ void sum_blocks(const struct point* points, const int32_t* labels, int64_t count, double* sums) {
  const int64_t b = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (b * block >= count) return;
  double partial[width] = {};
  for (int64_t i = b * block; i < min(count, (b + 1) * block); ++i) add_point(partial, labels[i], points[i]);
  for (int k = 0; k < width; ++k) sums[b * width + k] = partial[k];
}

constexpr int threads = 128;

unsigned groups_of(int64_t count) {
  return static_cast<unsigned>((count + threads - 1) / threads);
}

int64_t count_of(const tessera_tile* tile) {
  const tessera_range range = tessera_tile_range(tile);
  return range.end - range.begin;
}

cudaStream_t stream_of(const tessera_tile* tile) {
  return static_cast<cudaStream_t>(tessera_tile_stream(tile));
}

/// Fails the tile if one of the calls has failed.
int ended(tessera_tile* tile, cudaError_t status) {
  if (status == cudaSuccess) return 0;
  tessera_tile_fail(tile, cudaGetErrorString(status));
  return 1;
}

}  // namespace

int label_on_device(tessera_tile* tile, void* const* arrays, void* context) {
  const int64_t count = count_of(tile);
  label<<<groups_of(count), threads, 0, stream_of(tile)>>>(static_cast<const struct point*>(arrays[0]),
                                                           static_cast<int32_t*>(arrays[1]), count,
                                                           *static_cast<const struct centres*>(context));
  return ended(tile, cudaGetLastError());
}

int sum_on_device(tessera_tile* tile, tessera_sum* sum, void* const* arrays, void*) {
  const int64_t count = count_of(tile);
  const int64_t blocks = (count + block - 1) / block;  // a tile is whole blocks; the job's last may be short
  const size_t bytes = static_cast<size_t>(blocks) * width * sizeof(double);
  auto* const on_device = static_cast<double*>(tessera_tile_memory(tile, bytes));
  auto* const sums = static_cast<double*>(malloc(bytes));
  if (on_device == nullptr || sums == nullptr) {
    free(sums);
    return 1;
  }
  sum_blocks<<<groups_of(blocks), threads, 0, stream_of(tile)>>>(
      static_cast<const struct point*>(arrays[0]), static_cast<const int32_t*>(arrays[1]), count, on_device);
  cudaError_t status = cudaGetLastError();
  if (status == cudaSuccess)
    status = cudaMemcpyAsync(sums, on_device, bytes, cudaMemcpyDeviceToHost, stream_of(tile));
  if (status == cudaSuccess) status = cudaStreamSynchronize(stream_of(tile));
  int failed = ended(tile, status);
  for (int64_t b = 0; b < blocks && failed == 0; ++b) failed = tessera_sum_add(sum, sums + b * width);
  free(sums);
  return failed;
}

// SPDX-License-Identifier: Apache-2.0
#include "stream_work.hpp"

#include <tessera/error.hpp>

#include <cuda_runtime.h>

#include <string>

namespace tessera::bench {
namespace {

__global__ void advance_units(const double* matrix, const double* last, double* next, std::int64_t units) {
  const std::int64_t unit = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
  if (unit >= units) return;
  double sum = 0.5 * last[unit];
  for (int column = 0; column < matrix_width; ++column)
    sum += matrix[unit * matrix_width + column] / (1 + column);
  next[unit] = sum;
}

}  // namespace

void advance_on_device(const double* matrix, const double* last, double* next, std::int64_t units,
                       StreamView stream) {
  constexpr unsigned threads = 256;
  const auto groups = static_cast<unsigned>((units + threads - 1) / threads);
  advance_units<<<groups, threads, 0, static_cast<cudaStream_t>(stream.native())>>>(matrix, last, next,
                                                                                    units);
  if (const cudaError_t status = cudaGetLastError(); status != cudaSuccess)
    throw Error(ErrorCode::job_fault, std::string("the launch of a step: ") + cudaGetErrorString(status));
}

}  // namespace tessera::bench

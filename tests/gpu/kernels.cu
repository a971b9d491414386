// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernels.hpp"

namespace tessera::testing {
namespace {

constexpr unsigned threads_per_block = 128;
constexpr int sum_width = 3;

__global__ void map_kernel(const double* in, double* out, std::size_t size) {
  const std::size_t i = blockIdx.x * std::size_t{threads_per_block} + threadIdx.x;
  if (i < size) out[i] = in[i] * in[i] - 3.0 * in[i];
}

__global__ void reduce_kernel(const double* units, std::int64_t size, std::int64_t block, double* partials) {
  const std::int64_t b = blockIdx.x * std::int64_t{threads_per_block} + threadIdx.x;
  if (b * block >= size) return;
  double sum[sum_width] = {};
  for (std::int64_t i = b * block; i < min(size, (b + 1) * block); ++i) {
    sum[0] += units[i];
    sum[1] += units[i] * units[i];
    sum[2] += units[i] * units[i] - 3.0 * units[i];
  }
  for (int k = 0; k < sum_width; ++k) partials[b * sum_width + k] = sum[k];
}

__global__ void look_kernel(const double* units, std::int64_t size, std::int64_t first, std::int64_t block,
                            Look* looks) {
  const std::int64_t b = blockIdx.x * std::int64_t{threads_per_block} + threadIdx.x;
  const std::int64_t begin = b * block;
  if (begin < size) looks[b] = look_at(units + begin, min(block, size - begin), first + begin);
}

__global__ void trap_kernel() {
  __trap();
}

__global__ void fill_kernel(const volatile int* gate, std::uint32_t* data, std::size_t size,
                            std::uint32_t value) {
  if (gate != nullptr && threadIdx.x == 0) {
    while (*gate == 0) __nanosleep(1000);
  }
  __syncthreads();
  for (std::size_t i = threadIdx.x; i < size; i += blockDim.x) data[i] = value;
}

__global__ void count_kernel(const std::uint32_t* data, std::size_t size, std::uint32_t value,
                             unsigned long long* wrong) {
  unsigned long long mine = 0;
  for (std::size_t i = threadIdx.x; i < size; i += blockDim.x) mine += data[i] != value;
  if (mine != 0) atomicAdd(wrong, mine);
}

}  // namespace

void launch_map(unsigned blocks, unsigned threads, cudaStream_t stream, const double* in, double* out,
                std::size_t size) {
  map_kernel<<<blocks, threads, 0, stream>>>(in, out, size);
}

void launch_reduce(cudaStream_t stream, const double* units, std::int64_t size, std::int64_t block,
                   double* partials) {
  const std::int64_t sums = (size - 1) / block + 1;
  const auto blocks = static_cast<unsigned>((sums - 1) / threads_per_block + 1);
  reduce_kernel<<<blocks, threads_per_block, 0, stream>>>(units, size, block, partials);
}

void launch_look(cudaStream_t stream, const double* units, std::int64_t size, std::int64_t first,
                 std::int64_t block, Look* looks) {
  const std::int64_t count = (size - 1) / block + 1;
  const auto blocks = static_cast<unsigned>((count - 1) / threads_per_block + 1);
  look_kernel<<<blocks, threads_per_block, 0, stream>>>(units, size, first, block, looks);
}

void launch_trap(cudaStream_t stream) {
  trap_kernel<<<1, 1, 0, stream>>>();
}

void launch_fill(cudaStream_t stream, const volatile int* gate, std::uint32_t* data, std::size_t size,
                 std::uint32_t value) {
  fill_kernel<<<1, 256, 0, stream>>>(gate, data, size, value);
}

void launch_count(cudaStream_t stream, const std::uint32_t* data, std::size_t size, std::uint32_t value,
                  unsigned long long* wrong) {
  count_kernel<<<1, 256, 0, stream>>>(data, size, value, wrong);
}

}  // namespace tessera::testing

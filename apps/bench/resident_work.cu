// SPDX-License-Identifier: Apache-2.0
#include "resident_work.hpp"

#include <tessera/error.hpp>

#include <cuda_runtime.h>

#include <string>

namespace tessera::bench {
namespace {

/// Throws `Error(job_fault)` with what was done and the runtime's reason unless `status` is success.
void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess)
    throw Error(ErrorCode::job_fault, std::string(what) + ": " + cudaGetErrorString(status));
}

cudaStream_t native(StreamView stream) {
  return static_cast<cudaStream_t>(stream.native());
}

constexpr unsigned threads = 256;

unsigned groups_of(std::int64_t count) {
  return static_cast<unsigned>((count + threads - 1) / threads);
}

__global__ void advance_units(const double* matrix, const double* last, double* next, std::int64_t units) {
  const std::int64_t unit = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
  if (unit >= units) return;
  double sum = 0.5 * last[unit];
  for (int column = 0; column < matrix_width; ++column)
    sum += matrix[unit * matrix_width + column] / (1 + column);
  next[unit] = sum;
}

/// A warp for each block of units, whose lanes are added in a tree: the same order on every GPU.
__global__ void sum_blocks(const double* state, std::int64_t units, double* sums) {
  const std::int64_t block = (blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x % 32);
  const std::int64_t begin = block * sum_block;
  if (begin >= units) return;
  const std::int64_t end = min(units, begin + sum_block);
  double sum = 0;
  for (std::int64_t unit = begin + lane; unit < end; unit += 32) sum += state[unit];
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(0xffffffff, sum, distance);
  if (lane == 0) sums[block] = sum;
}

}  // namespace

void advance_on_device(const double* matrix, const double* last, double* next, std::int64_t units,
                       StreamView stream) {
  advance_units<<<groups_of(units), threads, 0, native(stream)>>>(matrix, last, next, units);
  check(cudaGetLastError(), "the launch of a step");
}

void sum_blocks_on_device(const double* state, std::int64_t units, double* sums, StreamView stream) {
  const std::int64_t blocks = (units + sum_block - 1) / sum_block;
  sum_blocks<<<groups_of(32 * blocks), threads, 0, native(stream)>>>(state, units, sums);
  check(cudaGetLastError(), "the launch of a sum");
}

struct SolverByHand::Memory {
  double* matrix = nullptr;
  double* state = nullptr;
  double* sums = nullptr;
  double* sums_on_host = nullptr;
  std::int64_t units = 0;
  std::int64_t blocks = 0;
  cudaStream_t stream = nullptr;
};

SolverByHand::SolverByHand(std::span<const double> matrix, std::span<const double> state)
    : memory_(std::make_unique<Memory>()) {
  Memory& m = *memory_;
  m.units = std::ssize(state);
  m.blocks = (m.units + sum_block - 1) / sum_block;
  check(cudaStreamCreateWithFlags(&m.stream, cudaStreamNonBlocking), "a stream");
  check(cudaMalloc(&m.matrix, matrix.size_bytes()), "memory");
  check(cudaMalloc(&m.state, state.size_bytes()), "memory");
  check(cudaMalloc(&m.sums, static_cast<std::size_t>(m.blocks) * sizeof(double)), "memory");
  check(cudaMallocHost(&m.sums_on_host, static_cast<std::size_t>(m.blocks) * sizeof(double)),
        "pinned memory");
  check(cudaMemcpy(m.matrix, matrix.data(), matrix.size_bytes(), cudaMemcpyHostToDevice), "a copy");
  check(cudaMemcpy(m.state, state.data(), state.size_bytes(), cudaMemcpyHostToDevice), "a copy");
}

SolverByHand::~SolverByHand() {
  (void)cudaFree(memory_->matrix);
  (void)cudaFree(memory_->state);
  (void)cudaFree(memory_->sums);
  (void)cudaFreeHost(memory_->sums_on_host);
  (void)cudaStreamDestroy(memory_->stream);
}

void SolverByHand::advance() {
  const Memory& m = *memory_;
  advance_units<<<groups_of(m.units), threads, 0, m.stream>>>(m.matrix, m.state, m.state, m.units);
  check(cudaGetLastError(), "the launch of a step");
}

double SolverByHand::sum() {
  const Memory& m = *memory_;
  sum_blocks<<<groups_of(32 * m.blocks), threads, 0, m.stream>>>(m.state, m.units, m.sums);
  check(cudaGetLastError(), "the launch of a sum");
  check(cudaMemcpyAsync(m.sums_on_host, m.sums, static_cast<std::size_t>(m.blocks) * sizeof(double),
                        cudaMemcpyDeviceToHost, m.stream),
        "the copy of sums");
  check(cudaStreamSynchronize(m.stream), "the copy of sums");
  double total = 0;
  for (std::int64_t block = 0; block < m.blocks; ++block) total += m.sums_on_host[block];
  return total;
}

}  // namespace tessera::bench

// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The kernels of `add_on_device`, compiled at run time, and for a test by the host compiler. Any thread may
/// add any vectors, because sums do not depend on the order.
#include <tessera/job/reproducible_sum_core.hpp>
#include <tessera/version.hpp>

#include <cstdint>

namespace TESSERA_NAMESPACE {

inline constexpr int adder_threads = 256;  ///< threads of a block

/// Work division of one kernel launch. A thread block sums a tile of columns over its own vectors: each
/// thread sums a column over every `rows`-th vector, then a tree sums the rows.
struct AdderStep {
  std::int64_t count = 0;   ///< vectors to add
  std::int64_t width = 0;   ///< elements of a vector
  std::int64_t blocks = 0;  ///< thread blocks per tile of columns, and resulting vectors
  std::int32_t columns = 0;
  std::int32_t rows = 0;  ///< rows of threads in a block, a power of two
};

constexpr void add_one(SumElement& sum, double summand) {
  add_to(sum, summand);
}
constexpr void add_one(SumElement& sum, const SumElement& summand) {
  merge_into(sum, summand);
}

/// One thread's sum. Neighbouring threads read adjacent elements (coalesced).
template <class Summand>
constexpr SumElement strided_sum(const AdderStep& step, const Summand* summands, std::int64_t tile,
                                 std::int64_t block, std::int32_t thread) {
  SumElement sum;
  const std::int64_t column = tile * step.columns + thread % step.columns;
  const std::int32_t row = thread / step.columns;
  if (row >= step.rows || column >= step.width) return sum;
  for (std::int64_t i = block * step.rows + row; i < step.count; i += step.blocks * step.rows)
    add_one(sum, summands[i * step.width + column]);
  return sum;
}

/// Adds the upper half of `2 * rows` rows of sums to the lower half.
constexpr void fold_rows(const AdderStep& step, SumElement* sums, std::int32_t rows, std::int32_t thread) {
  if (thread < rows * step.columns) merge_into(sums[thread], sums[thread + rows * step.columns]);
}

/// Stores the first row, a tile of the block's resulting vector.
constexpr void store_row(const AdderStep& step, const SumElement* sums, std::int64_t tile, std::int64_t block,
                         std::int32_t thread, SumElement* results) {
  const std::int64_t column = tile * step.columns + thread;
  if (thread < step.columns && column < step.width) results[block * step.width + column] = sums[thread];
}

}  // namespace TESSERA_NAMESPACE

#ifdef __CUDACC__
template <class Summand>
__device__ void add_vectors(const tessera::AdderStep& step, const Summand* summands,
                            tessera::SumElement* results) {
  // Raw memory, because shared memory does not run constructors.
  __shared__ alignas(
      tessera::SumElement) unsigned char memory[tessera::adder_threads * sizeof(tessera::SumElement)];
  auto* const sums = reinterpret_cast<tessera::SumElement*>(memory);
  const auto thread = static_cast<std::int32_t>(threadIdx.x);
  sums[thread] = tessera::strided_sum(step, summands, blockIdx.x, blockIdx.y, thread);
  for (std::int32_t rows = step.rows / 2; rows > 0; rows /= 2) {
    __syncthreads();
    tessera::fold_rows(step, sums, rows, thread);
  }
  __syncthreads();
  tessera::store_row(step, sums, blockIdx.x, blockIdx.y, thread, results);
}

extern "C" __global__ void tessera_add(tessera::AdderStep step, const double* summands,
                                       tessera::SumElement* results) {
  add_vectors(step, summands, results);
}

extern "C" __global__ void tessera_merge(tessera::AdderStep step, const tessera::SumElement* summands,
                                         tessera::SumElement* results) {
  add_vectors(step, summands, results);
}
#endif

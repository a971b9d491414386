// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The kernels of `add_on_device`, compiled at run time, and by the host in a test. Sums do not depend on the
/// order, so any thread may add any vectors, and no thread waits for another.
#include <tessera/job/reproducible_sum_core.hpp>
#include <tessera/version.hpp>

#include <cstdint>

namespace tessera::inline TESSERA_ABI {

/// What one of `threads` threads, a multiple of the width, adds of `count` doubles, vectors one after
/// another: its element of every vector that it meets. Neighbours read neighbours, whatever the width.
constexpr void add_strided(const double* summands, std::int64_t count, std::int64_t thread,
                           std::int64_t threads, SumElement* sums) {
  SumElement sum;
  for (std::int64_t i = thread; i < count; i += threads) add_to(sum, summands[i]);
  sums[thread] = sum;
}

/// The same of sums.
constexpr void merge_strided(const SumElement* summands, std::int64_t count, std::int64_t thread,
                             std::int64_t threads, SumElement* sums) {
  SumElement sum;
  for (std::int64_t i = thread; i < count; i += threads) merge_into(sum, summands[i]);
  sums[thread] = sum;
}

}  // namespace tessera::inline TESSERA_ABI

#ifdef __CUDACC__
extern "C" __global__ void tessera_add(const double* summands, std::int64_t count, std::int64_t threads,
                                       tessera::SumElement* sums) {
  const std::int64_t thread = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
  if (thread < threads) tessera::add_strided(summands, count, thread, threads, sums);
}

extern "C" __global__ void tessera_merge(const tessera::SumElement* summands, std::int64_t count,
                                         std::int64_t threads, tessera::SumElement* sums) {
  const std::int64_t thread = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
  if (thread < threads) tessera::merge_strided(summands, count, thread, threads, sums);
}
#endif

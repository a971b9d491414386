// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

/// The kernels of the tests on real devices, and all that nvcc compiles of them: each function launches one
/// on a stream, and a launch that fails is an error for `cudaGetLastError`.
namespace tessera::testing {

/// out[i] = the host's `unit_result(in[i])`, bit by bit.
void launch_map(unsigned blocks, unsigned threads, cudaStream_t stream, const double* in, double* out,
                std::size_t size);

/// The sums of `add_block` for each block of units: one thread adds a block in its order, as the host does,
/// bit by bit.
void launch_reduce(cudaStream_t stream, const double* units, std::int64_t size, std::int64_t block,
                   double* partials);

/// Ends the use of the device in this process.
void launch_trap(cudaStream_t stream);

/// Fills `data` once `*gate` is not 0; at once if there is no gate. One block.
void launch_fill(cudaStream_t stream, const volatile int* gate, std::uint32_t* data, std::size_t size,
                 std::uint32_t value);

/// Adds to `wrong` how many elements are not `value`. One block.
void launch_count(cudaStream_t stream, const std::uint32_t* data, std::size_t size, std::uint32_t value,
                  unsigned long long* wrong);

}  // namespace tessera::testing

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/reducer.hpp>

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

/// The kernels of the tests on real devices, the only sources that nvcc compiles: each function launches one
/// on a stream, and a launch that fails is an error for `cudaGetLastError`.
namespace tessera::testing {

/// out[i] = the host's `unit_result(in[i])`, bit by bit.
void launch_map(unsigned blocks, unsigned threads, cudaStream_t stream, const double* in, double* out,
                std::size_t size);

/// The sums of `add_block` for each block of units: one thread adds a block in its order, as the host does,
/// bit by bit.
void launch_reduce(cudaStream_t stream, const double* units, std::int64_t size, std::int64_t block,
                   double* partials);

/// The combined value of some units.
struct Look {
  Located<double> least;
  double greatest;
  std::int64_t above;  ///< 0
};
using Looks = Fields<Field<&Look::least, MinimumAt<double>>, Field<&Look::greatest, Maximum<double>>,
                     Field<&Look::above, Sum<std::int64_t>>>;

/// For the host and for kernels; `first` is the index of units[0].
constexpr Look look_at(const double* units, std::int64_t size, std::int64_t first) {
  Look look = Looks::identity();
  for (std::int64_t i = 0; i < size; ++i)
    look = Looks::combine(look, {{units[i], first + i}, units[i], units[i] > 0 ? 1 : 0});
  return look;
}

/// `look_at` each block of units.
void launch_look(cudaStream_t stream, const double* units, std::int64_t size, std::int64_t first,
                 std::int64_t block, Look* looks);

/// Makes the device unusable in this process.
void launch_trap(cudaStream_t stream);

/// Fills `data` once `*gate` is not 0; at once if there is no gate. One block.
void launch_fill(cudaStream_t stream, const volatile int* gate, std::uint32_t* data, std::size_t size,
                 std::uint32_t value);

/// Adds the number of elements other than `value` to `wrong`. One block.
void launch_count(cudaStream_t stream, const std::uint32_t* data, std::size_t size, std::uint32_t value,
                  unsigned long long* wrong);

}  // namespace tessera::testing

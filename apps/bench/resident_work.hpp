// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/stream.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

/// The kernels of a solver that iterates, and the whole solver by hand on one device. In a build without CUDA
/// all of it throws `Error(job_fault)`.
namespace tessera::bench {

constexpr int matrix_width = 8;
constexpr std::int64_t sum_block = 1024;  ///< units whose order of addition is fixed

/// next[unit] = 0.5 last[unit] + a weighted sum of the unit's row; `next` may be `last`.
void advance_on_device(const double* matrix, const double* last, double* next, std::int64_t units,
                       StreamView stream);
/// The same on the host.
inline void advance_on_host(std::span<const double> matrix, std::span<const double> last,
                            std::span<double> next) {
  for (std::size_t unit = 0; unit < next.size(); ++unit) {
    double sum = 0.5 * last[unit];
    for (int column = 0; column < matrix_width; ++column)
      sum += matrix[unit * matrix_width + static_cast<std::size_t>(column)] / (1 + column);
    next[unit] = sum;
  }
}
/// A sum for each block of units, in the order of the units.
void sum_blocks_on_device(const double* state, std::int64_t units, double* sums, StreamView stream);

/// What a program would write that has the current device alone: memory by cudaMalloc, copied to once, a
/// stream, and pinned memory for the sums.
class SolverByHand {
 public:
  SolverByHand(std::span<const double> matrix, std::span<const double> state);
  ~SolverByHand();
  SolverByHand(const SolverByHand&) = delete;
  SolverByHand& operator=(const SolverByHand&) = delete;

  void advance();
  /// The sum of this device's state, in the order of its blocks.
  [[nodiscard]] double sum();

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

}  // namespace tessera::bench

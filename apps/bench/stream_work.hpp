// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/stream.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

/// A step of an iterative solver. In a build without CUDA its device version throws `Error(job_fault)`.
namespace tessera::bench {

constexpr int matrix_width = 8;

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

}  // namespace tessera::bench

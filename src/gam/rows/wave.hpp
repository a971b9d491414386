// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/rows_view.hpp"

#include <cstdint>

/// What the host hands to the kernels of the device pass: plain structures, the same on both sides.
namespace tessera::gam {

/// Sums of one task in shared memory, all workers together: 48 KiB, which every device has.
inline constexpr int shared_elements = 6144;
/// Sums of one task at most, so that four workers or more share its rows.
inline constexpr int task_elements = shared_elements / 4;

/// Threads that add one row to a product together: the least power of two that is no less than its pairs of
/// nonzeros, up to a warp.
[[nodiscard]] constexpr int lanes_for(int pairs) {
  int lanes = 1;
  while (lanes < pairs && lanes < 32) lanes *= 2;
  return lanes;
}

/// A part of one product's sums that fits in shared memory, and how many workers form it: each is `lanes_for`
/// threads, with sums of its own.
struct Task {
  int product;
  int elements;
  int workers;
  std::int64_t begin;       ///< among the product's
  std::int64_t row_values;  ///< where the wave's values of its terms begin, as in TermTable
  std::int64_t column_values;
};

/// Slices `first_slice … first_slice + slices - 1` of the rows at hand, and their scratch. Arrays over rows
/// have `capacity` = slices x slice_rows of them.
struct WaveView : RowsView {
  const Product* products;
  double prior_factor;
  std::int64_t rows;  ///< at hand: of the part of the tile
  std::int64_t block_rows;
  int slice_rows;
  int slices_per_block;
  std::int64_t first_slice;
  std::int64_t capacity;
  std::int64_t width;
  int scalar_count;
  double* values;    ///< by term, then by row, then by nonzero
  int* starts;       ///< by placement, then by row
  double* weights;   ///< by row
  double* roots;     ///< of the weights, for the products of splines
  double* scalars;   ///< by scalar, then by row
  double* partials;  ///< by slice, then by element
};

}  // namespace tessera::gam

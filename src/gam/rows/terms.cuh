// SPDX-License-Identifier: Apache-2.0
// Rows of a batch, and the values of their terms.
#pragma once

#include "gam/rows/slice_batch.hpp"
#include "gam/terms/evaluation.hpp"

#include <cstdint>

namespace TESSERA_NAMESPACE::gam {

struct Slice {
  std::int64_t begin;  ///< first row, among the rows in memory
  int rows;
};

inline Slice slice_of(const RowsView& batch, int in_batch) {
  const std::int64_t slice = batch.first_slice + in_batch;
  const std::int64_t block = slice / batch.slices_per_block;
  const std::int64_t begin = block * batch.block_rows + slice % batch.slices_per_block * batch.slice_rows;
  const std::int64_t block_end = (block + 1) * batch.block_rows;
  std::int64_t end = begin + batch.slice_rows;
  if (end > block_end) end = block_end;
  if (end > batch.rows) end = batch.rows;
  return {begin, end > begin ? static_cast<int>(end - begin) : 0};
}

/// A thread's row. Grid: rows of a slice x slices.
struct RowPlace {
  std::int64_t row;  ///< index in the columns
  std::int64_t at;   ///< index in the scratch arrays
  bool exists;
};

inline RowPlace place_of_thread(const RowsView& batch) {
  const int in_batch = static_cast<int>(blockIdx.y);
  const Slice slice = slice_of(batch, in_batch);
  const int r = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  return {slice.begin + r, static_cast<std::int64_t>(in_batch) * batch.slice_rows + r, r < slice.rows};
}

/// Value k of `count` values of a row; `begin`: from `value_begins` or `dense_begins`.
inline double& value_at(const RowsView& batch, std::int64_t begin, int count, int k, std::int64_t at) {
  return batch.values[batch.values_by_row ? begin * batch.capacity + at * count + k
                                          : (begin + k) * batch.capacity + at];
}

inline int& start_at(const RowsView& batch, int placement, std::int64_t at) {
  return batch.starts[placement * batch.capacity + at];
}

/// Zeroes the row's stored values and starts.
inline void clear_values(const RowsView& batch, std::int64_t at) {
  for (int t = 0; t <= batch.layout.term_count; ++t) {
    const TermTable& term = batch.layout.terms[t];
    const std::int64_t begin = batch.value_begins[t];
    if (begin < 0) continue;
    for (int k = 0; k < term.nonzeros; ++k) value_at(batch, begin, term.nonzeros, k, at) = 0;
    for (int p = term.placement_begin; p < term.placement_end; ++p) start_at(batch, p, at) = 0;
  }
}

/// Sum of the row's offsets in a formula.
inline double offset_of(const RowsView& batch, std::int64_t row, int formula) {
  double offset = 0;
  for (int i = 0; i < batch.offset_count; ++i) {
    if (batch.offsets[i].formula == formula)
      offset += batch.response_factor * batch.columns.numbers[batch.offsets[i].variable][row];
  }
  return offset;
}

}  // namespace TESSERA_NAMESPACE::gam

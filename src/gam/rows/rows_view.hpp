// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/tables.hpp"

#include <cstdint>

/// Arguments of the kernels that process rows: plain structures with equal layouts on CPU and GPU.
namespace TESSERA_NAMESPACE::gam {

inline constexpr int threads_per_block = 128;

/// Columns of the rows in device memory, by variable of the frame.
struct ColumnsView {
  const double* const* numbers;
  const std::int32_t* const* codes;
  const std::uint8_t* complete;
};

/// A variable added to a formula's linear predictor.
struct OffsetColumn {
  int variable = 0;
  int formula = 0;
};

/// Maximum number of spline components of a term on devices.
inline constexpr int most_splines_of_term = 6;
/// Maximum number of variables of an isotropic smooth on devices.
inline constexpr int most_isotropic_variables = 8;

/// Rows per thread in `evaluate_curves`.
inline constexpr int curve_rows_of_thread = 4;
/// Number of dense columns that a thread evaluates in one sweep: `many_dense_columns` as long as so many are
/// left, then `few_dense_columns`.
inline constexpr int few_dense_columns = 32;
inline constexpr int many_dense_columns = 100;

/// True if a term is a single dense component, which has a separate kernel.
[[nodiscard]] constexpr bool is_dense_alone(const TermTable& term) {
  return term.dense == 1 && term.component_end - term.component_begin == 1;
}

/// Rows in memory, in slices. Scratch has `slice_rows` places per slice from `first_slice` on.
struct RowsView {
  LayoutView layout;
  ColumnsView columns;
  const OffsetColumn* offsets;
  int offset_count;
  int formulas;            ///< number of formulas (`RowLayout::predictors`)
  double response_factor;  ///< factor of the response and the offsets
  const double* raw_coef;  ///< null: predictors are not computed
  /// By term: begin in `curves` of an unstored curve's cubics, 4 numbers per slot of its margin; or -1.
  const std::int64_t* curve_begins;
  const double* curves;
  const double* parameters;  ///< of the family, or predictors of the null model

  std::int64_t rows;  ///< number of rows in memory
  std::int64_t block_rows;
  int slice_rows;
  int slices_per_block;
  std::int64_t first_slice;
  std::int64_t capacity;

  double* predictors;  ///< by formula, then by row
  /// By term or dense component; then row-major if `values_by_row`, otherwise by nonzero, then by row.
  double* values;
  bool values_by_row;
  const std::int64_t* value_begins;  ///< by term, as in TermTable; -1: not stored
  const std::int64_t* dense_begins;  ///< by component, if dense; -1: not stored
  int* starts;                       ///< by placement, then by row
};

}  // namespace TESSERA_NAMESPACE::gam

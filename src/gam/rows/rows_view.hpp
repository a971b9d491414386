// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/tables.hpp"

#include <cstdint>

/// Arguments of the kernels that go over rows: plain structures, the same on host and device. Kernels do not
/// depend on the model, which they read from these tables.
namespace TESSERA_NAMESPACE::gam {

inline constexpr int threads_per_block = 128;

/// The columns of the rows in memory, indexed like the frame's variables.
struct ColumnsView {
  const double* const* numbers;
  const std::int32_t* const* codes;
  const std::uint8_t* complete;
};

/// A variable that is added to the linear predictor of a formula.
struct OffsetColumn {
  int variable = 0;
  int formula = 0;
};

/// Maximum number of spline components of a term. Terms with more are evaluated on hosts only.
inline constexpr int most_splines_of_term = 6;
/// Maximum number of variables of isotropic dense columns, also for devices only.
inline constexpr int most_isotropic_variables = 8;

/// Number of rows that a thread evaluates if all terms are curves.
inline constexpr int curve_rows_of_thread = 4;
/// Numbers of dense columns that a thread sums at once.
inline constexpr int few_dense_columns = 32;
inline constexpr int many_dense_columns = 100;

/// Whether a term is one dense component, which has a kernel of its own.
[[nodiscard]] constexpr bool is_dense_alone(const TermTable& term) {
  return term.dense == 1 && term.component_end - term.component_begin == 1;
}

/// The rows in memory, in slices, and scratch for `capacity` rows: those of slices `first_slice`,
/// `first_slice + 1`, …, `slice_rows` places for each.
struct RowsView {
  LayoutView layout;
  ColumnsView columns;
  const OffsetColumn* offsets;
  int offset_count;
  int formulas;            ///< linear predictors that terms are added to
  double response_factor;  ///< factor of the response and the offsets
  const double* raw_coef;  ///< null: predictors are not computed
  /// By term: where its cubics of the predictor begin in `curves`, four for each slot of its margin, if it is
  /// a curve whose values are not stored; else -1.
  const std::int64_t* curve_begins;
  const double* curves;
  const double* parameters;  ///< of the family; with several linear predictors those of the null model

  std::int64_t rows;  ///< number of rows of the part of the tile in memory
  std::int64_t block_rows;
  int slice_rows;
  int slices_per_block;
  std::int64_t first_slice;
  std::int64_t capacity;

  double* predictors;  ///< by formula, then by row
  /// By term or dense component, then by row and nonzero, or by nonzero and row.
  double* values;
  bool values_by_row;
  const std::int64_t* value_begins;  ///< by term, as in TermTable; -1: no kernel reads its values
  const std::int64_t* dense_begins;  ///< by component: where the values of a dense one begin; -1: not stored
  int* starts;                       ///< by placement, then by row
};

}  // namespace TESSERA_NAMESPACE::gam

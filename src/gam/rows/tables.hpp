// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/terms/tables.hpp"

#include <cstdint>

/// The tables of a `RowLayout`, for CPU and GPU.
namespace TESSERA_NAMESPACE::gam {

/// A term. The last one is the working residual, without components.
struct TermTable {
  int component_begin = 0;
  int component_end = 0;
  int placement_begin = 0;  ///< the first placement includes all components
  int placement_end = 0;
  int nonzeros = 1;
  int raw_begin = 0;
  std::int64_t value_begin = 0;  ///< number of nonzeros of earlier terms
  int combined = -1;             ///< index of the term whose columns this term combines (CPU only); -1: none
  int splines = 0;               ///< number of spline components
  int dense = 0;                 ///< number of dense components
  int predictor = 0;             ///< index of the formula
};

/// Positions of a term's nonzeros if some components are omitted.
struct Placement {
  int size = 1;          ///< raw columns
  int stride_begin = 0;  ///< one stride per component; 0: omitted
  int offset_begin = 0;  ///< one offset per nonzero, increasing
};

/// Sums of a pair of terms: a row-major matrix of `rows` x `columns`. Nonzeros i of the row term and j of the
/// column term are added at `row_start * columns + lines[i] + column_start + offsets[j]`.
struct Product {
  int row_term = 0;
  int column_term = 0;
  int row_placement = 0;
  int column_placement = 0;
  int rows = 0;
  int columns = 0;
  int row_nonzeros = 1;
  int column_nonzeros = 1;
  bool symmetric = false;     ///< a term with itself: only elements j >= i are valid
  bool runs_of_four = false;  ///< column offsets are runs of four consecutive numbers
  int line_begin = 0;         ///< one per nonzero of the row term
  int offset_begin = 0;       ///< one per nonzero of the column term
  std::int64_t begin = 0;     ///< index in the vector of sums
  /// Two random effects of the part (CPU only): index in `LevelPairs::terms`; -1: the product is a matrix.
  int pairs = -1;
};

/// Pointers valid on either CPU or GPU.
struct LayoutView {
  const double* numbers = nullptr;
  const ComponentTable* components = nullptr;
  const TermTable* terms = nullptr;
  const Placement* placements = nullptr;
  const Product* products = nullptr;
  const int* strides = nullptr;
  const int* offsets = nullptr;
  const std::int64_t* lines = nullptr;
  const int* part_variables = nullptr;
  int term_count = 0;  ///< without the residual, which is `terms[term_count]`
  int placement_count = 0;
  int values_per_row = 0;  ///< nonzeros of all terms, plus 1 for the residual
};

enum class PassKind { moments, start, step, deviance, parameters };

/// Number of scalars that a pass sums, except `PassKind::parameters`: see `RowOutcome`.
inline constexpr int row_scalar_count = 4;

}  // namespace TESSERA_NAMESPACE::gam

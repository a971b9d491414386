// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/terms/tables.hpp"

#include <cstdint>

/// The tables of a `RowLayout`, which both host threads and kernels read.
namespace TESSERA_NAMESPACE::gam {

/// A raw term. The last term of a layout is the working residual, without components.
struct TermTable {
  int component_begin = 0;
  int component_end = 0;
  int placement_begin = 0;  ///< the first placement includes all components
  int placement_end = 0;
  int nonzeros = 1;
  int raw_begin = 0;
  std::int64_t value_begin = 0;  ///< number of nonzeros of earlier terms
  int combined = -1;  ///< for dense columns (CPU only): index of the term whose columns they combine; else -1
  int splines = 0;    ///< number of spline components
  int dense = 0;      ///< number of dense components
  int predictor = 0;  ///< index of the linear predictor that has the term
};

/// The positions of the nonzeros of a term when some of its components are omitted.
struct Placement {
  int size = 1;          ///< raw columns
  int stride_begin = 0;  ///< one stride per component; 0: omitted
  int offset_begin = 0;  ///< one offset per nonzero, increasing
};

/// The sums of one pair of terms: a row-major matrix of `rows` x `columns`. The product of nonzero i of the
/// row term and nonzero j of the column term is added at `row_start * columns + lines[i] + column_start +
/// offsets[j]`.
struct Product {
  int row_term = 0;
  int column_term = 0;
  int row_placement = 0;
  int column_placement = 0;
  int rows = 0;
  int columns = 0;
  int row_nonzeros = 1;
  int column_nonzeros = 1;
  bool symmetric = false;  ///< whether it is of a term with itself: only elements with j >= i need be valid
  bool runs_of_four = false;  ///< whether column offsets are runs of four consecutive numbers
  int line_begin = 0;         ///< one line per nonzero of the row term
  int offset_begin = 0;       ///< one offset per nonzero of the column term
  std::int64_t begin = 0;     ///< where the product begins in the vector of sums
  /// For two random effects of the part (CPU only): the index in `LevelPairs::terms`, which gives the index
  /// of each row's sum after `begin`; -1: the product is a matrix.
  int pairs = -1;
};

/// The layout as plain pointers, valid on either host or device.
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
  int values_per_row = 0;  ///< nonzeros of all terms, and one for the residual
};

/// The kind of a pass, by the sums that it forms.
enum class PassKind { moments, start, step, deviance, parameters };

/// Number of scalars that a pass sums, except a pass for the family's parameters: see `RowOutcome`.
inline constexpr int row_scalar_count = 4;

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/tables.hpp"

#include <cstddef>

/// Products of two terms over the rows of a chunk, on the CPU. Every sum adds the rows in order.
namespace TESSERA_NAMESPACE::gam {

/// A term's values in the rows of a chunk.
struct ProductSide {
  const double* values;  ///< `nonzeros` values per row
  const int* starts;     ///< one per row
};

/// Multiplies each row's values by the row's factor.
void multiply_rows(const double* factors, int nonzeros, int count, const double* values, double* products);

/// Adds the rows' products to a product's matrix of sums.
void add_to_matrix(const LayoutView& view, const Product& product, int count, const ProductSide& row,
                   const ProductSide& column, double* sums);

/// Adds each row's quadratic form, the sum of its products times elements of `form`, to `out`.
void apply_form(const LayoutView& view, const Product& product, int count, const ProductSide& row,
                const ProductSide& column, const double* form, double* out);

/// The sums of a product in `AlignedSums`.
struct AlignedTarget {
  double* sums;  ///< the matrix of remainder 0
  int matrix;    ///< distance between the matrices of two remainders
  int columns;
  const std::ptrdiff_t* runs;  ///< offset of each nonzero of the row term
};
/// Adds four adjacent products for each of the row term's one or four nonzeros.
void add_to_aligned(const AlignedTarget& to, int row_nonzeros, int count, const ProductSide& row,
                    const ProductSide& column);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/tables.hpp"

#include <cstddef>

/// What the rows of a chunk give to the products of two terms, on the host. Every sum takes the rows in
/// order.
namespace tessera::gam {

/// One term of a product over the rows of a chunk.
struct ProductSide {
  const double* values;  ///< `nonzeros` a row
  const int* starts;     ///< one a row
};

/// The values of each row times its factor.
void multiply_rows(const double* factors, int nonzeros, int count, const double* values, double* products);

/// Adds them to the product's matrix of sums.
void add_to_matrix(const LayoutView& view, const Product& product, int count, const ProductSide& row,
                   const ProductSide& column, double* sums);

/// Adds to `out`, for each row, the sum of what it would add there, each times the number of `form` at that
/// place.
void apply_form(const LayoutView& view, const Product& product, int count, const ProductSide& row,
                const ProductSide& column, const double* form, double* out);

/// A product's sums among `AlignedSums`.
struct AlignedTarget {
  double* sums;  ///< of the first remainder
  int matrix;    ///< from one remainder to the next
  int columns;
  const std::ptrdiff_t* runs;  ///< of each nonzero of the row term, from a row's corner
};
/// Adds them to four neighbours for each of the row term's nonzeros, which are one or four.
void add_to_aligned(const AlignedTarget& to, int row_nonzeros, int count, const ProductSide& row,
                    const ProductSide& column);

}  // namespace tessera::gam

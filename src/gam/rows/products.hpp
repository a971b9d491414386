// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/tables.hpp"

#include <cstddef>

/// Products of two terms over the rows of a chunk, on the host. Every sum adds the rows in order.
namespace TESSERA_NAMESPACE::gam {

/// One term of a product, with its values in the rows of a chunk.
struct ProductSide {
  const double* values;  ///< `nonzeros` values per row
  const int* starts;     ///< one per row
};

/// Multiplies the values of each row by the row's factor.
void multiply_rows(const double* factors, int nonzeros, int count, const double* values, double* products);

/// Adds the rows' products to the sums of a product stored as a matrix.
void add_to_matrix(const LayoutView& view, const Product& product, int count, const ProductSide& row,
                   const ProductSide& column, double* sums);

/// For each row, adds the sum of its products to `out`, each product times the element of `form` at its
/// place.
void apply_form(const LayoutView& view, const Product& product, int count, const ProductSide& row,
                const ProductSide& column, const double* form, double* out);

/// The sums of a product in `AlignedSums`.
struct AlignedTarget {
  double* sums;  ///< matrix for remainder 0, see `AlignedSums`
  int matrix;    ///< distance from the matrix of one remainder to that of the next
  int columns;
  const std::ptrdiff_t* runs;  ///< offset of each nonzero of the row term from a row's corner
};
/// Adds four adjacent products for each of the row term's nonzeros, of which there are one or four.
void add_to_aligned(const AlignedTarget& to, int row_nonzeros, int count, const ProductSide& row,
                    const ProductSide& column);

}  // namespace TESSERA_NAMESPACE::gam

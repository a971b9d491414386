// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/products.hpp"

#include "base/vectors.hpp"
#include "gam/rows/chunk.hpp"

#include <cstdint>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Place of the product of nonzeros i and j relative to the terms' starts: lines[i] + offsets[j].
struct ProductPlaces {
  const std::int64_t* lines;  ///< by nonzero of the row term
  const int* offsets;         ///< by nonzero of the column term
};

#define TESSERA_TEXT "gam/rows/products_text.hpp"
#include "base/each_width.hpp"

/// `add_runs` for two terms with one nonzero each.
void add_single(const Product& product, int count, const ProductSide& row, const ProductSide& column,
                double* sums) {
  const std::int64_t line_size = product.columns;
  for (int r = 0; r < count; ++r) {
    sums[row.starts[r] * line_size + column.starts[r]] += row.values[r] * column.values[r];
  }
}

/// `add_runs` for any column offsets.
void add_scattered(const Product& product, const ProductPlaces& meet, int count, const ProductSide& row,
                   const ProductSide& column, double* sums) {
  for (int r = 0; r < count; ++r) {
    const double* a = row.values + static_cast<std::ptrdiff_t>(r) * product.row_nonzeros;
    const double* b = column.values + static_cast<std::ptrdiff_t>(r) * product.column_nonzeros;
    double* corner = sums + static_cast<std::int64_t>(row.starts[r]) * product.columns + column.starts[r];
    for (int i = 0; i < product.row_nonzeros; ++i) {
      double* line = corner + meet.lines[i];
      for (int j = 0; j < product.column_nonzeros; ++j) line[meet.offsets[j]] += a[i] * b[j];
    }
  }
}

/// `apply_runs` for any column offsets.
void apply_scattered(const Product& product, const ProductPlaces& meet, int count, const ProductSide& row,
                     const ProductSide& column, const double* form, double* out) {
  for (int r = 0; r < count; ++r) {
    const double* a = row.values + static_cast<std::ptrdiff_t>(r) * product.row_nonzeros;
    const double* b = column.values + static_cast<std::ptrdiff_t>(r) * product.column_nonzeros;
    const double* corner = form + std::int64_t{product.columns} * row.starts[r] + column.starts[r];
    double sum = 0;
    for (int i = 0; i < product.row_nonzeros; ++i) {
      double of_line = 0;
      for (int j = 0; j < product.column_nonzeros; ++j)
        of_line += corner[meet.lines[i] + meet.offsets[j]] * b[j];
      sum += a[i] * of_line;
    }
    out[r] += sum;
  }
}

}  // namespace

void multiply_rows(const double* factors, int nonzeros, int count, const double* values, double* products) {
  TESSERA_AT_WIDTH(scale_rows(factors, nonzeros, count, values, products));
}

void add_to_matrix(const LayoutView& view, const Product& product, int count, const ProductSide& row,
                   const ProductSide& column, double* sums) {
  const ProductPlaces meet{view.lines + product.line_begin, view.offsets + product.offset_begin};
  const int rows = product.row_nonzeros;
  const int columns = product.column_nonzeros;
  if (rows == product.rows && columns == product.columns && (columns == 1 || product.runs_of_four)) {
    TESSERA_AT_WIDTH(add_everywhere(product, count, row, column, sums));
  } else if (columns == 1) {
    add_single(product, count, row, column, sums);
  } else if (!product.runs_of_four) {
    add_scattered(product, meet, count, row, column, sums);
  } else if (rows == 1 && columns == 4) {
    TESSERA_AT_WIDTH(add_runs<1, 4>(product, meet, count, row, column, sums));
  } else if (rows == 4 && columns == 4) {
    TESSERA_AT_WIDTH(add_runs<4, 4>(product, meet, count, row, column, sums));
  } else {
    TESSERA_AT_WIDTH(add_runs<0, 0>(product, meet, count, row, column, sums));
  }
}

void apply_form(const LayoutView& view, const Product& product, int count, const ProductSide& row,
                const ProductSide& column, const double* form, double* out) {
  const ProductPlaces meet{view.lines + product.line_begin, view.offsets + product.offset_begin};
  const int rows = product.row_nonzeros;
  const int columns = product.column_nonzeros;
  if (!product.runs_of_four) {
    apply_scattered(product, meet, count, row, column, form, out);
  } else if (rows == 1 && columns == 4) {
    TESSERA_AT_WIDTH(apply_runs<1, 4>(product, meet, count, row, column, form, out));
  } else if (rows == 4 && columns == 4) {
    TESSERA_AT_WIDTH(apply_runs<4, 4>(product, meet, count, row, column, form, out));
  } else {
    TESSERA_AT_WIDTH(apply_runs<0, 0>(product, meet, count, row, column, form, out));
  }
}

void add_to_aligned(const AlignedTarget& to, int row_nonzeros, int count, const ProductSide& row,
                    const ProductSide& column) {
  if (row_nonzeros == 4)
    TESSERA_AT_WIDTH(add_aligned<4>(to, count, row, column));
  else
    TESSERA_AT_WIDTH(add_aligned<1>(to, count, row, column));
}

}  // namespace TESSERA_NAMESPACE::gam

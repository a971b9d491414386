// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

/// Matrices of responses in memory, which `fit_many` reads in place.
namespace TESSERA_NAMESPACE::gam {

/// Numbers in the caller's memory. NaN is a missing value.
using NumbersInPlace =
    std::variant<std::span<const double>, std::span<const float>, std::span<const std::int8_t>,
                 std::span<const std::uint8_t>, std::span<const std::int16_t>, std::span<const std::uint16_t>,
                 std::span<const std::int32_t>, std::span<const std::uint32_t>, std::span<const std::int64_t>,
                 std::span<const std::uint64_t>>;

/// Indices in the caller's memory, counted from 0.
using IndicesInPlace = std::variant<std::span<const std::int32_t>, std::span<const std::int64_t>>;

/// A matrix whose element in row i and column j is `values[i * row_stride + j * column_stride]`. The strides
/// (row, column) are (columns, 1) if row-major, and (1, rows) if column-major. Strides must not be negative.
struct DenseMatrix {
  NumbersInPlace values;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
};

/// A compressed sparse matrix, by rows (CSR) or by columns (CSC). Row (or column) r has the elements
/// `values[k]`, in the columns (or rows) `indices[k]`, for `begins[r]` <= k < `begins[r + 1]`. Indices may be
/// in any order. All other elements are 0; duplicate elements are added.
struct SparseMatrix {
  NumbersInPlace values;
  IndicesInPlace indices;
  IndicesInPlace begins;  ///< one element more than rows (CSR) or columns (CSC)
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  bool by_columns = false;
};

/// A matrix of responses in memory, which must not change before the call that reads it returns:
///
///     std::vector<std::uint16_t> counts;  // of each cell, gene by gene
///     gam::Responses responses{.matrix = gam::ResponseMatrix{gam::DenseMatrix{counts, cells, genes, 1,
///     cells}}};
struct ResponseMatrix {
  std::variant<DenseMatrix, SparseMatrix> elements;
  std::vector<std::string> names{};  ///< names of the responses; empty: "1", "2", …
};

}  // namespace TESSERA_NAMESPACE::gam

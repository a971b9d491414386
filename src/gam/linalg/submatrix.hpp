// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/matrix.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace TESSERA_NAMESPACE::gam {

/// Copy of the `rows` x `cols` block at (row, col).
[[nodiscard]] inline Matrix submatrix(const Matrix& a, int row, int rows, int col, int cols) {
  Matrix out(rows, cols);
  for (int j = 0; j < cols; ++j) {
    const auto from =
        a.column(col + j).subspan(static_cast<std::size_t>(row), static_cast<std::size_t>(rows));
    std::copy(from.begin(), from.end(), out.column(j).begin());
  }
  return out;
}

/// Copy of the given rows and columns, in the given order.
[[nodiscard]] inline Matrix submatrix(const Matrix& a, std::span<const int> rows, std::span<const int> cols) {
  Matrix out(static_cast<int>(rows.size()), static_cast<int>(cols.size()));
  for (int j = 0; j < out.cols(); ++j) {
    const auto from = a.column(cols[static_cast<std::size_t>(j)]);
    const auto to = out.column(j);
    for (std::size_t i = 0; i < rows.size(); ++i) to[i] = from[static_cast<std::size_t>(rows[i])];
  }
  return out;
}

/// Copies `part` into `a`, with its first element at (row, col).
inline void assign(Matrix& a, int row, int col, const Matrix& part) {
  for (int j = 0; j < part.cols(); ++j) {
    std::copy(part.column(j).begin(), part.column(j).end(), a.column(col + j).begin() + row);
  }
}

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/linalg/algebra.hpp"
#include "gam/linalg/parted_matrix.hpp"

#include <tessera/gam/matrix.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// A tall sparse matrix C (rows x columns). Some columns are dense; in the other columns, a row has few
/// nonzeros. C is the off-diagonal block of a symmetric matrix [D C; C' B] with a diagonal block D. The class
/// computes the products with C that the elimination of D needs.
///
/// Example: in X'WX, each level of a random effect is a row. This row has values in the dense columns of the
/// smooths, and in columns of another random effect, for levels that occur with this level in the data.
class Border {
 public:
  Border() = default;
  /// A column of `a` is dense if over a quarter of its elements are nonzero, or if `will_be_dense` marks it.
  explicit Border(const Matrix& a, const std::vector<bool>& will_be_dense = {});
  /// A matrix of zeros. Row i stores the dense columns, and the columns `pattern.rows_of(i)`.
  Border(int columns, std::vector<int> dense_columns, const SparsePattern& pattern);

  [[nodiscard]] int rows() const noexcept { return dense_.cols(); }
  [[nodiscard]] int columns() const noexcept { return columns_; }
  [[nodiscard]] const std::vector<int>& dense_columns() const noexcept { return dense_columns_; }
  /// A row's values in the dense columns; then the column indices and values of its other nonzeros.
  [[nodiscard]] std::span<double> dense_of(int row) noexcept { return dense_.column(row); }
  [[nodiscard]] std::span<const double> dense_of(int row) const noexcept { return dense_.column(row); }
  [[nodiscard]] std::span<const int> places_of(int row) const noexcept {
    return std::span(places_).subspan(begin_of(row), begin_of(row + 1) - begin_of(row));
  }
  [[nodiscard]] std::span<double> values_of(int row) noexcept {
    return std::span(values_).subspan(begin_of(row), begin_of(row + 1) - begin_of(row));
  }
  [[nodiscard]] std::span<const double> values_of(int row) const noexcept {
    return std::span(values_).subspan(begin_of(row), begin_of(row + 1) - begin_of(row));
  }
  /// Sets an element, which must be in a dense column or in the row's pattern.
  void set(int row, int column, double value) noexcept;
  [[nodiscard]] double operator()(int row, int column) const noexcept;

  /// Multiplies the dense columns from column `begin` on by the square matrix `u`, from the right.
  void change_basis(int begin, const Matrix& u, const Algebra& algebra);

  /// C x and C' y. Cost: O(nonzeros).
  [[nodiscard]] std::vector<double> times(std::span<const double> x) const;
  [[nodiscard]] std::vector<double> transposed_times(std::span<const double> y) const;
  /// The dot product of row i of C with column i of `b` (columns x rows), for each i.
  [[nodiscard]] std::vector<double> times_rows(const Matrix& b) const;
  /// C' diag(weights) C. Cost: a dense product, and O(nonzeros of its row) for each sparse nonzero.
  [[nodiscard]] Matrix weighted_square(std::span<const double> weights, const Algebra& algebra) const;
  /// a C'. Cost: O(rows of a) for each nonzero of C.
  [[nodiscard]] Matrix after(const Matrix& a, const Algebra& algebra) const;
  /// v C' diag(weights) C for a columns x columns matrix v. Cost: O(columns) for each nonzero, or
  /// `weighted_square` plus a dense product if this is cheaper.
  [[nodiscard]] Matrix sandwich(const Matrix& v, std::span<const double> weights,
                                const Algebra& algebra) const;
  /// c v c' for each row c of C and a symmetric v. Cost: O(nonzeros of its row) for each nonzero, and
  /// O(columns) for each element of a dense column.
  [[nodiscard]] std::vector<double> forms(const Matrix& v, const Algebra& algebra) const;

 private:
  [[nodiscard]] std::size_t nonzeros() const noexcept {
    return values_.size() + dense_columns_.size() * static_cast<std::size_t>(rows());
  }
  /// For each sparse column in [begin, end): adds its lower triangle of C' diag(weights) C to `sum`, and its
  /// products with the dense columns to `beside`. `weighted`: diag(weights) times the dense columns.
  void add_squares(std::span<const double> weights, const Matrix& weighted, int begin, int end, Matrix& sum,
                   Matrix& beside) const;
  [[nodiscard]] Matrix square_of_few(std::span<const double> weights, const Algebra& algebra) const;
  /// to += from C' diag(weights) C, for one strip (see border.cpp) of rows of `from`.
  void add_sandwich(const double* from, std::span<const double> weights, double* to) const;

  [[nodiscard]] std::size_t begin_of(int row) const noexcept {
    return static_cast<std::size_t>(begins_[static_cast<std::size_t>(row)]);
  }

  int columns_ = 0;
  std::vector<int> dense_columns_;
  Matrix dense_;             ///< dense columns x rows: a row of C is contiguous
  std::vector<int> begins_;  ///< position of each row's first value, and the end
  std::vector<int> places_;  ///< column of each value
  std::vector<double> values_;
};

}  // namespace TESSERA_NAMESPACE::gam

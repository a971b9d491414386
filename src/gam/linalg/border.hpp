// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/linalg/algebra.hpp"
#include "gam/linalg/parted_matrix.hpp"

#include <tessera/gam/matrix.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// A tall sparse matrix C (rows x columns): some columns are dense, and in the others each row has a few
/// values. C is the off-diagonal block of a symmetric matrix [D C; C' B] with a diagonal block D; the class
/// has all products that the elimination of D needs.
///
/// Example: in X'WX, the row of a random effect's level has values in the dense columns of the smooths, and
/// in the levels of another random effect that it occurs with.
class Border {
 public:
  Border() = default;
  /// A column of `a` is dense if a quarter of it is nonzero, or if `will_be_dense` marks it.
  explicit Border(const Matrix& a, const std::vector<bool>& will_be_dense = {});
  /// Zeros, stored in the dense columns and, for row i, in the columns of column i of `pattern`.
  Border(int columns, std::vector<int> dense_columns, const SparsePattern& pattern);

  [[nodiscard]] int rows() const noexcept { return dense_.cols(); }
  [[nodiscard]] int columns() const noexcept { return columns_; }
  [[nodiscard]] const std::vector<int>& dense_columns() const noexcept { return dense_columns_; }
  /// The values of a row in dense columns, and its other values with their columns.
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
  /// Sets an element, which must be in a dense column or in the row's pattern; all other elements are zero.
  void set(int row, int column, double value) noexcept;
  [[nodiscard]] double operator()(int row, int column) const noexcept;

  /// Replaces C by C u on the dense columns from `begin` on; `u` is square.
  void change_basis(int begin, const Matrix& u, const Algebra& algebra);

  /// C x and C' y. Cost: O(nonzeros).
  [[nodiscard]] std::vector<double> times(std::span<const double> x) const;
  [[nodiscard]] std::vector<double> transposed_times(std::span<const double> y) const;
  /// The dot product of row i of C with column i of `b` (columns x rows), for each i.
  [[nodiscard]] std::vector<double> times_rows(const Matrix& b) const;
  /// C' diag(weights) C. Cost: a product of the dense columns, and for each other nonzero O(nonzeros of the
  /// same row).
  [[nodiscard]] Matrix weighted_square(std::span<const double> weights, const Algebra& algebra) const;
  /// a C' for a matrix with as many columns as C. Cost: O(rows of a) for each nonzero of C.
  [[nodiscard]] Matrix after(const Matrix& a, const Algebra& algebra) const;
  /// v C' diag(weights) C for a columns x columns matrix v. Cost: O(columns) for each nonzero, or that of
  /// `weighted_square` and a dense product, whichever is less.
  [[nodiscard]] Matrix sandwich(const Matrix& v, std::span<const double> weights,
                                const Algebra& algebra) const;
  /// c' v c for each row c of C and a symmetric v. Cost: O(nonzeros of the same row) for each nonzero, and
  /// O(columns) for each element of a dense column.
  [[nodiscard]] std::vector<double> forms(const Matrix& v, const Algebra& algebra) const;

 private:
  [[nodiscard]] std::size_t nonzeros() const noexcept {
    return values_.size() + dense_columns_.size() * static_cast<std::size_t>(rows());
  }
  /// For the columns [begin, end) that are not dense: adds their part of the lower triangle of C'
  /// diag(weights) C to `sum`, and their products with the dense columns to `beside`. `weighted`:
  /// diag(weights) times the dense columns.
  void add_squares(std::span<const double> weights, const Matrix& weighted, int begin, int end, Matrix& sum,
                   Matrix& beside) const;
  [[nodiscard]] Matrix square_of_few(std::span<const double> weights, const Algebra& algebra) const;
  /// `to` += `from` C' diag(weights) C, for some rows of the matrix `from`.
  void add_sandwich(const double* from, std::span<const double> weights, double* to) const;

  [[nodiscard]] std::size_t begin_of(int row) const noexcept {
    return static_cast<std::size_t>(begins_[static_cast<std::size_t>(row)]);
  }

  int columns_ = 0;
  std::vector<int> dense_columns_;
  Matrix dense_;             ///< dense columns x rows, so that a row is contiguous
  std::vector<int> begins_;  ///< position of each row's first value, and the end
  std::vector<int> places_;  ///< columns of the values
  std::vector<double> values_;
};

}  // namespace TESSERA_NAMESPACE::gam

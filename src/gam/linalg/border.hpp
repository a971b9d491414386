// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/linalg/algebra.hpp"
#include "gam/linalg/matrix.hpp"
#include "gam/linalg/parted_matrix.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace tessera::gam {

/// A tall matrix C (rows x columns) whose rows are short: some columns are dense, and of the others a row has
/// a few values. It is what stands beside a diagonal block D of a symmetric matrix [D C; C' B], and all
/// products that eliminating that block takes of it.
///
/// Of X'WX of a random effect of r levels: the row of a level has the dense columns of the smooths, and of
/// another random effect the levels that it occurs with.
class Border {
 public:
  Border() = default;
  /// A column of `a` is dense if a quarter of it is not zero, or if its flag in `turned` says that it will
  /// be.
  explicit Border(const Matrix& a, const std::vector<bool>& turned = {});
  /// Zeros in dense columns, and of each row in the others that `pattern` has for the column of its number.
  Border(int columns, std::vector<int> dense_columns, const SparsePattern& pattern);

  [[nodiscard]] int rows() const noexcept { return dense_.cols(); }
  [[nodiscard]] int columns() const noexcept { return columns_; }
  [[nodiscard]] const std::vector<int>& dense_columns() const noexcept { return dense_columns_; }
  /// What a row has in dense columns, and its other values with their columns.
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
  /// An element for which there is room; where there is none, it is zero.
  void set(int row, int column, double value) noexcept;
  [[nodiscard]] double operator()(int row, int column) const noexcept;

  /// C u on the columns from `begin` on, which are dense: u is square.
  void turn(int begin, const Matrix& u, const Algebra& algebra);

  /// C x and C' y. Cost: O(nonzeros).
  [[nodiscard]] std::vector<double> times(std::span<const double> x) const;
  [[nodiscard]] std::vector<double> transposed_times(std::span<const double> y) const;
  /// Of each row c of C its product with the column of `b` (columns x rows) of the same number.
  [[nodiscard]] std::vector<double> times_rows(const Matrix& b) const;
  /// C' diag(weights) C. Cost: of the dense columns that of their product, and O(nonzeros of a row) for each
  /// other nonzero of it.
  [[nodiscard]] Matrix weighted_square(std::span<const double> weights, const Algebra& algebra) const;
  /// a C' for a matrix with as many columns: (rows of a) x rows. Cost: O(rows of a) for each nonzero.
  [[nodiscard]] Matrix after(const Matrix& a, const Algebra& algebra) const;
  /// v C' diag(weights) C for a v that is columns x columns. Cost: O(columns) for each nonzero, or that of
  /// the dense product with `weighted_square`, whichever is less.
  [[nodiscard]] Matrix sandwich(const Matrix& v, std::span<const double> weights,
                                const Algebra& algebra) const;
  /// c' v c of each row c of C, for a symmetric v. Cost: O(nonzeros of a row) for each nonzero of it, and
  /// O(columns) for each that is of a dense column.
  [[nodiscard]] std::vector<double> forms(const Matrix& v, const Algebra& algebra) const;

 private:
  /// Values of all rows.
  [[nodiscard]] std::size_t nonzeros() const noexcept {
    return values_.size() + dense_columns_.size() * static_cast<std::size_t>(rows());
  }
  /// Columns `begin` to `end` of the lower triangle of C' diag(weights) C, without dense columns, and below
  /// `beside` what dense ones add to them; `weighted` is diag(weights) times the dense ones.
  void add_squares(std::span<const double> weights, const Matrix& weighted, int begin, int end, Matrix& sum,
                   Matrix& beside) const;
  /// `to` += `from` C' diag(weights) C, of some rows of a matrix.
  void add_sandwich(const double* from, std::span<const double> weights, double* to) const;

  [[nodiscard]] std::size_t begin_of(int row) const noexcept {
    return static_cast<std::size_t>(begins_[static_cast<std::size_t>(row)]);
  }

  int columns_ = 0;
  std::vector<int> dense_columns_;
  Matrix dense_;             ///< dense columns x rows: what a row has of them lies together
  std::vector<int> begins_;  ///< of each row's values, and the end
  std::vector<int> places_;  ///< their columns
  std::vector<double> values_;
};

}  // namespace tessera::gam

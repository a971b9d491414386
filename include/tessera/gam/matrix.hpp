// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// A dense matrix of doubles, column-major as in LAPACK, R and Fortran: element (i, j), indexed from 0, is
/// `values()[j * rows() + i]`. A moved-from matrix is 0 x 0. Indices are not checked.
class Matrix {
 public:
  Matrix() = default;
  /// A matrix of zeros.
  Matrix(int rows, int cols)
      : rows_(rows), cols_(cols), values_(static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols)) {}
  Matrix(const Matrix&) = default;
  Matrix& operator=(const Matrix&) = default;
  Matrix(Matrix&& other) noexcept
      : rows_(std::exchange(other.rows_, 0)),
        cols_(std::exchange(other.cols_, 0)),
        values_(std::exchange(other.values_, {})) {}
  Matrix& operator=(Matrix&& other) noexcept {
    rows_ = std::exchange(other.rows_, 0);
    cols_ = std::exchange(other.cols_, 0);
    values_ = std::exchange(other.values_, {});
    return *this;
  }
  ~Matrix() = default;

  [[nodiscard]] int rows() const noexcept { return rows_; }
  [[nodiscard]] int cols() const noexcept { return cols_; }
  [[nodiscard]] bool empty() const noexcept { return values_.empty(); }
  [[nodiscard]] double& operator()(int i, int j) noexcept { return values_[at(i, j)]; }
  [[nodiscard]] double operator()(int i, int j) const noexcept { return values_[at(i, j)]; }
  [[nodiscard]] double* data() noexcept { return values_.data(); }
  [[nodiscard]] const double* data() const noexcept { return values_.data(); }
  [[nodiscard]] std::span<double> column(int j) noexcept {
    return std::span(values_).subspan(at(0, j), static_cast<std::size_t>(rows_));
  }
  [[nodiscard]] std::span<const double> column(int j) const noexcept {
    return std::span(values_).subspan(at(0, j), static_cast<std::size_t>(rows_));
  }
  [[nodiscard]] std::span<const double> values() const noexcept { return values_; }
  [[nodiscard]] std::span<double> values() noexcept { return values_; }

  friend bool operator==(const Matrix&, const Matrix&) = default;

 private:
  [[nodiscard]] std::size_t at(int i, int j) const noexcept {
    return static_cast<std::size_t>(j) * static_cast<std::size_t>(rows_) + static_cast<std::size_t>(i);
  }

  int rows_ = 0;
  int cols_ = 0;
  std::vector<double> values_;
};

}  // namespace TESSERA_NAMESPACE::gam

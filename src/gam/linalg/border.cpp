// SPDX-License-Identifier: Apache-2.0
#include "gam/linalg/border.hpp"

#include "base/at.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"

#include <algorithm>
#include <cstddef>

namespace tessera::gam {

using base::at;

Border::Border(const Matrix& a, const std::vector<bool>& turned) : columns_(a.cols()) {
  const int rows = a.rows();
  std::vector<bool> dense;
  for (int j = 0; j < columns_; ++j) {
    const auto zeros = std::ranges::count(a.column(j), 0.0);
    dense.push_back((!turned.empty() && turned[at(j)]) || zeros < rows - rows / 4);
  }
  for (int j = 0; j < columns_; ++j) {
    if (dense[at(j)]) dense_columns_.push_back(j);
  }
  dense_ = Matrix(static_cast<int>(dense_columns_.size()), rows);
  for (int k = 0; k < dense_.rows(); ++k) {
    const auto from = a.column(dense_columns_[at(k)]);
    for (int i = 0; i < rows; ++i) dense_(k, i) = from[at(i)];
  }

  std::vector<int> counts(at(rows) + 1);
  const auto for_each_value = [&](const auto& use) {
    for (int j = 0; j < columns_; ++j) {
      if (dense[at(j)]) continue;
      const auto from = a.column(j);
      for (std::size_t i = 0; i < from.size(); ++i) {
        if (from[i] != 0) use(i, j, from[i]);
      }
    }
  };
  for_each_value([&](std::size_t i, int, double) { ++counts[i + 1]; });
  for (std::size_t i = 1; i < counts.size(); ++i) counts[i] += counts[i - 1];
  begins_ = counts;
  places_.resize(at(begins_.back()));
  values_.resize(places_.size());
  for_each_value([&](std::size_t i, int j, double value) {
    const auto next = at(counts[i]++);
    places_[next] = j;
    values_[next] = value;
  });
}

void Border::turn(int begin, const Matrix& u, const Algebra& algebra) {
  const auto first = std::ranges::lower_bound(dense_columns_, begin) - dense_columns_.begin();
  const int row = static_cast<int>(first);
  assign(dense_, row, 0, algebra.multiply(transpose(u), submatrix(dense_, row, u.rows(), 0, dense_.cols())));
}

std::vector<double> Border::times(std::span<const double> x) const {
  std::vector<double> own;
  own.reserve(dense_columns_.size());
  for (const int j : dense_columns_) own.push_back(x[at(j)]);
  std::vector<double> product = multiply_t(dense_, own);
  for (std::size_t i = 0; i < product.size(); ++i) {
    for (auto k = at(begins_[i]); k < at(begins_[i + 1]); ++k) product[i] += values_[k] * x[at(places_[k])];
  }
  return product;
}

std::vector<double> Border::transposed_times(std::span<const double> y) const {
  std::vector<double> product(at(columns_));
  const std::vector<double> own = multiply(dense_, y);
  for (std::size_t k = 0; k < own.size(); ++k) product[at(dense_columns_[k])] = own[k];
  for (std::size_t i = 0; i < y.size(); ++i) {
    for (auto k = at(begins_[i]); k < at(begins_[i + 1]); ++k) product[at(places_[k])] += values_[k] * y[i];
  }
  return product;
}

std::vector<double> Border::times_rows(const Matrix& b) const {
  std::vector<double> products(at(rows()));
  for (int i = 0; i < rows(); ++i) {
    const auto column = b.column(i);
    double& sum = products[at(i)];
    for (int k = 0; k < dense_.rows(); ++k) sum += dense_(k, i) * column[at(dense_columns_[at(k)])];
    for (auto k = at(begins_[at(i)]); k < at(begins_[at(i) + 1]); ++k)
      sum += values_[k] * column[at(places_[k])];
  }
  return products;
}

Matrix Border::weighted_square(std::span<const double> weights, const Algebra& algebra) const {
  Matrix weighted = dense_;
  for (int i = 0; i < rows(); ++i) {
    for (double& value : weighted.column(i)) value *= weights[at(i)];
  }
  const Matrix within = algebra.multiply(weighted, transpose(dense_));

  Matrix sum(columns_, columns_);
  Matrix beside(dense_.rows(), columns_);  // the dense columns by the others
  for (int i = 0; i < rows(); ++i) {
    const auto row = weighted.column(i);
    const auto end = at(begins_[at(i) + 1]);
    for (auto k = at(begins_[at(i)]); k < end; ++k) {
      add_multiple(beside.column(places_[k]), values_[k], row);
      // Places ascend: this is the lower triangle.
      const double value = weights[at(i)] * values_[k];
      double* const column = sum.column(places_[k]).data();
      for (auto m = k; m < end; ++m) column[places_[m]] += value * values_[m];
    }
  }
  for (int j = 0; j < columns_; ++j) {
    for (int i = j + 1; i < columns_; ++i) sum(j, i) = sum(i, j);
  }
  for (int k = 0; k < beside.rows(); ++k) {
    const int column = dense_columns_[at(k)];
    for (int j = 0; j < columns_; ++j) sum(column, j) = sum(j, column) = beside(k, j);
  }
  for (int k = 0; k < within.cols(); ++k) {
    for (int m = 0; m < within.rows(); ++m) sum(dense_columns_[at(m)], dense_columns_[at(k)]) = within(m, k);
  }
  return sum;
}

Matrix Border::after(const Matrix& a, const Algebra& algebra) const {
  Matrix own(a.rows(), dense_.rows());
  for (int k = 0; k < own.cols(); ++k)
    std::ranges::copy(a.column(dense_columns_[at(k)]), own.column(k).begin());
  Matrix product = algebra.multiply(own, dense_);
  constexpr int rows_at_once = 64;
  algebra.for_each((rows() + rows_at_once - 1) / rows_at_once, [&](int part, const Algebra&) {
    const int begin = part * rows_at_once;
    const int end = std::min(rows(), begin + rows_at_once);
    for (int i = begin; i < end; ++i) {
      const auto to = product.column(i);
      for (auto k = at(begins_[at(i)]); k < at(begins_[at(i) + 1]); ++k)
        add_multiple(to, values_[k], a.column(places_[k]));
    }
  });
  return product;
}

}  // namespace tessera::gam

// SPDX-License-Identifier: Apache-2.0
#include "gam/linalg/border.hpp"

#include "base/at.hpp"
#include "base/target_clones.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"

#include <algorithm>
#include <utility>

namespace TESSERA_NAMESPACE::gam {

using base::at;

namespace {

/// Rows of C, or columns of a product, per task: constant, so results do not depend on the thread count.
constexpr int rows_of_part = 64;
constexpr int columns_of_part = 64;
/// Rows of a strip: two strips of a thousand columns fit the L2 cache.
constexpr int strip = 32;
/// Cost of a multiplication with a sparse value, relative to one in a dense product.
constexpr std::size_t dense_rate = 3;

/// With at most this many dense columns, C' diag(weights) C is summed over row ranges in parallel.
constexpr int few_columns = 128;
constexpr int rows_of_square = 512;
constexpr int parts_of_square = 16;

constexpr int parts_of(int all, int at_once) {
  return (all + at_once - 1) / at_once;
}

struct SparseRow {
  const int* places;
  const double* values;
  int count;
};

void add_strip(double* to, double factor, const double* from) {
  for (int i = 0; i < strip; ++i) to[i] += factor * from[i];
}

/// to += from c' weight c for one row c = (dense, sparse) of C.
TESSERA_TARGET_CLONES void add_row(const double* from, const SparseRow& dense, const SparseRow& sparse,
                                   double weight, double* to) {
  double product[strip] = {};
  for (const SparseRow* row : {&dense, &sparse})
    for (int k = 0; k < row->count; ++k)
      add_strip(product, row->values[k], from + std::ptrdiff_t{strip} * row->places[k]);
  for (const SparseRow* row : {&dense, &sparse})
    for (int k = 0; k < row->count; ++k)
      add_strip(to + std::ptrdiff_t{strip} * row->places[k], weight * row->values[k], product);
}

}  // namespace

Border::Border(const Matrix& a, const std::vector<bool>& will_be_dense) : columns_(a.cols()) {
  const int rows = a.rows();
  std::vector<bool> dense;
  for (int j = 0; j < columns_; ++j) {
    const auto zeros = std::ranges::count(a.column(j), 0.0);
    dense.push_back((!will_be_dense.empty() && will_be_dense[at(j)]) || zeros < rows - rows / 4);
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

Border::Border(int columns, std::vector<int> dense_columns, const SparsePattern& pattern)
    : columns_(columns),
      dense_columns_(std::move(dense_columns)),
      dense_(static_cast<int>(dense_columns_.size()), pattern.columns()),
      begins_(pattern.begins.begin(), pattern.begins.end()),
      places_(pattern.rows),
      values_(places_.size()) {}

void Border::set(int row, int column, double value) noexcept {
  const auto dense = std::ranges::lower_bound(dense_columns_, column);
  if (dense != dense_columns_.end() && *dense == column) {
    dense_(static_cast<int>(dense - dense_columns_.begin()), row) = value;
    return;
  }
  const auto own = places_of(row);
  values_of(row)[at(std::ranges::lower_bound(own, column) - own.begin())] = value;
}

double Border::operator()(int row, int column) const noexcept {
  const auto dense = std::ranges::lower_bound(dense_columns_, column);
  if (dense != dense_columns_.end() && *dense == column)
    return dense_(static_cast<int>(dense - dense_columns_.begin()), row);
  const auto own = places_of(row);
  const auto found = std::ranges::lower_bound(own, column);
  return found == own.end() || *found != column ? 0.0 : values_of(row)[at(found - own.begin())];
}

void Border::change_basis(int begin, const Matrix& u, const Algebra& algebra) {
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

void Border::add_squares(std::span<const double> weights, const Matrix& weighted, int begin, int end,
                         Matrix& sum, Matrix& beside) const {
  for (int i = 0; i < rows(); ++i) {
    const auto first = places_.begin() + begins_[at(i)];
    const auto last = places_.begin() + begins_[at(i) + 1];
    // Column indices ascend: values from this column on are the lower triangle.
    for (auto place = std::lower_bound(first, last, begin); place != last && *place < end; ++place) {
      const auto k = at(place - places_.begin());
      add_multiple(beside.column(*place), values_[k], weighted.column(i));
      const double value = weights[at(i)] * values_[k];
      double* const column = sum.column(*place).data();
      for (auto m = k; m < at(begins_[at(i) + 1]); ++m) column[places_[m]] += value * values_[m];
    }
  }
}

/// Copies `rows_of_square` rows at a time: a copy of all rows would exceed the cache.
Matrix Border::square_of_few(std::span<const double> weights, const Algebra& algebra) const {
  const int count = dense_.rows();
  const int at_once = std::max(rows_of_square, (rows() + parts_of_square - 1) / parts_of_square);
  std::vector<Matrix> sums(at(parts_of(rows(), at_once)), Matrix(count, count));
  algebra.for_each(static_cast<int>(sums.size()), [&](int part, const Algebra&) {
    const int last = std::min(rows(), (part + 1) * at_once);
    for (int begin = part * at_once; begin < last; begin += rows_of_square) {
      std::vector<int> some;  // rows with nonzero weight
      for (int i = begin; i < std::min(last, begin + rows_of_square); ++i) {
        if (weights[at(i)] != 0) some.push_back(i);
      }
      Matrix own(count, static_cast<int>(some.size()));
      Matrix weighted(count, own.cols());
      for (int i = 0; i < own.cols(); ++i) {
        const auto from = dense_.column(some[at(i)]);
        for (int k = 0; k < count; ++k) {
          own(k, i) = from[at(k)];
          weighted(k, i) = weights[at(some[at(i)])] * from[at(k)];
        }
      }
      add_multiple(sums[at(part)].values(), 1, multiply_nt(weighted, own).values());
    }
  });
  Matrix all(count, count);
  for (const Matrix& sum : sums) add_multiple(all.values(), 1, sum.values());
  return all;
}

Matrix Border::weighted_square(std::span<const double> weights, const Algebra& algebra) const {
  if (places_.empty() && dense_.rows() <= few_columns) {
    const Matrix within = square_of_few(weights, algebra);
    Matrix sum(columns_, columns_);
    for (int k = 0; k < within.cols(); ++k) {
      for (int m = 0; m < within.rows(); ++m)
        sum(dense_columns_[at(m)], dense_columns_[at(k)]) = within(m, k);
    }
    return sum;
  }
  Matrix weighted = dense_;
  for (int i = 0; i < rows(); ++i) {
    for (double& value : weighted.column(i)) value *= weights[at(i)];
  }
  const Matrix within = algebra.multiply(weighted, transpose(dense_));

  Matrix sum(columns_, columns_);
  Matrix beside(dense_.rows(), columns_);  // dense columns x other columns
  algebra.for_each(parts_of(columns_, columns_of_part), [&](int part, const Algebra&) {
    const int begin = part * columns_of_part;
    add_squares(weights, weighted, begin, std::min(columns_, begin + columns_of_part), sum, beside);
  });
  fill_upper(sum, algebra);
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
  algebra.for_each(parts_of(rows(), rows_of_part), [&](int part, const Algebra&) {
    const int begin = part * rows_of_part;
    const int end = std::min(rows(), begin + rows_of_part);
    for (int i = begin; i < end; ++i) {
      const auto to = product.column(i);
      for (auto k = at(begins_[at(i)]); k < at(begins_[at(i) + 1]); ++k)
        add_multiple(to, values_[k], a.column(places_[k]));
    }
  });
  return product;
}

void Border::add_sandwich(const double* from, std::span<const double> weights, double* to) const {
  for (int i = 0; i < rows(); ++i) {
    const int begin = begins_[at(i)];
    const SparseRow dense{dense_columns_.data(), dense_.column(i).data(), dense_.rows()};
    const SparseRow sparse{places_.data() + begin, values_.data() + begin, begins_[at(i) + 1] - begin};
    add_row(from, dense, sparse, weights[at(i)], to);
  }
}

Matrix Border::sandwich(const Matrix& v, std::span<const double> weights, const Algebra& algebra) const {
  if (2 * dense_rate * nonzeros() > at(columns_) * at(columns_))
    return algebra.multiply(v, weighted_square(weights, algebra));
  Matrix product(columns_, columns_);
  algebra.for_each(parts_of(columns_, strip), [&](int part, const Algebra&) {
    const int begin = part * strip;
    const int size = std::min(strip, columns_ - begin);
    std::vector<double> from(at(columns_) * strip);
    std::vector<double> to(from.size());
    for (int j = 0; j < columns_; ++j)
      std::ranges::copy(v.column(j).subspan(at(begin), at(size)), from.begin() + std::ptrdiff_t{strip} * j);
    add_sandwich(from.data(), weights, to.data());
    for (int j = 0; j < columns_; ++j)
      std::ranges::copy(std::span(to).subspan(at(j) * strip, at(size)), product.column(j).begin() + begin);
  });
  return product;
}

std::vector<double> Border::forms(const Matrix& v, const Algebra& algebra) const {
  Matrix own(v.rows(), dense_.rows());
  for (int k = 0; k < own.cols(); ++k)
    std::ranges::copy(v.column(dense_columns_[at(k)]), own.column(k).begin());
  std::vector<double> forms(at(rows()));
  algebra.for_each(parts_of(rows(), rows_of_part), [&](int part, const Algebra& alone) {
    const int begin = part * rows_of_part;
    const int size = std::min(rows_of_part, rows() - begin);
    const Matrix through = alone.multiply(own, submatrix(dense_, 0, dense_.rows(), begin, size));
    for (int i = begin; i < begin + size; ++i) {
      const auto column = through.column(i - begin);
      double& form = forms[at(i)];
      for (int k = 0; k < dense_.rows(); ++k) form += dense_(k, i) * column[at(dense_columns_[at(k)])];
      for (auto k = at(begins_[at(i)]); k < at(begins_[at(i) + 1]); ++k) {
        const auto beside = v.column(places_[k]);
        double sum = column[at(places_[k])] + 0.5 * values_[k] * beside[at(places_[k])];
        for (auto m = at(begins_[at(i)]); m < k; ++m) sum += values_[m] * beside[at(places_[m])];
        form += 2 * values_[k] * sum;
      }
    }
  });
  return forms;
}

}  // namespace TESSERA_NAMESPACE::gam

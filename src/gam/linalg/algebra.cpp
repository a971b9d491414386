// SPDX-License-Identifier: Apache-2.0
#include "gam/linalg/algebra.hpp"

#include "base/at.hpp"
#include "gam/linalg/linalg.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Columns of a product per task: enough for full speed, few enough to occupy all threads.
constexpr int columns_at_once = 64;
constexpr int columns_of_block = 96;
/// Smaller matrices are processed on one thread.
constexpr int smallest_shared = 256;
/// Rows and columns of a tile: two tiles fit the L1 cache.
constexpr int cache_tile = 32;

void for_each_part(const Algebra& algebra, int first, int last, int at_once,
                   const std::function<void(int begin, int end)>& work) {
  algebra.for_each((last - first + at_once - 1) / at_once, [&](int part, const Algebra&) {
    const int begin = first + part * at_once;
    work(begin, std::min(last, begin + at_once));
  });
}

}  // namespace

Matrix HostAlgebra::multiply(const Matrix& a, const Matrix& b) const {
  check_cancelled();
  Matrix product(a.rows(), b.cols());
  team_.for_each_block({0, b.cols()}, columns_at_once, [&](int, Range columns) {
    multiply_columns(a, b, static_cast<int>(columns.begin), static_cast<int>(columns.end), product);
  });
  return product;
}

void fill_upper(Matrix& a, const Algebra& algebra) {
  for_each_part(algebra, 0, a.cols(), cache_tile, [&](int begin, int end) {
    for (int row = 0; row < end; row += cache_tile) {
      for (int j = begin; j < end; ++j) {
        for (int i = row; i < std::min(j, row + cache_tile); ++i) a(i, j) = a(j, i);
      }
    }
  });
}

std::optional<Matrix> cholesky(Matrix a, const Algebra& algebra) {
  const int n = a.rows();
  if (n < smallest_shared) return cholesky(a);
  Matrix lower = std::move(a);
  for (int begin = 0; begin < n; begin += columns_of_block) {
    const int end = std::min(n, begin + columns_of_block);
    if (!factor_block(lower, begin, end)) return std::nullopt;
    for_each_part(algebra, end, n, columns_of_block,
                  [&](int first, int last) { factor_rows_below(lower, begin, end, first, last); });
    for_each_part(algebra, end, n, columns_of_block,
                  [&](int first, int last) { update_columns_after(lower, begin, end, first, last); });
  }
  clear_upper(lower);
  return lower;
}

Matrix cholesky_inverse(const Matrix& lower, const Algebra& algebra) {
  const int n = lower.rows();
  if (n < smallest_shared) return cholesky_inverse(lower);
  Matrix inverse(n, n);
  for_each_part(algebra, 0, n, columns_of_block,
                [&](int begin, int end) { cholesky_inverse_columns(lower, begin, end, inverse); });
  fill_upper(inverse, algebra);
  return inverse;
}

double trace_of_product(const Matrix& a, int a_row, const Matrix& b, int b_row, const Algebra& algebra) {
  std::vector<double> sums(base::at(a.cols() / cache_tile + 1));
  for_each_part(algebra, 0, a.cols(), cache_tile, [&](int begin, int end) {
    double sum = 0;
    for (int column = 0; column < b.cols(); column += cache_tile) {
      for (int l = begin; l < end; ++l) {
        for (int i = column; i < std::min(b.cols(), column + cache_tile); ++i)
          sum += a(a_row + i, l) * b(b_row + l, i);
      }
    }
    sums[base::at(begin / cache_tile)] = sum;
  });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

void HostAlgebra::for_each(int count, const std::function<void(int i, const Algebra& algebra)>& work) const {
  team_.for_each_block({0, count}, 1, [&](int /*thread*/, Range one) {
    work(static_cast<int>(one.begin), HostAlgebra(1, check_));
  });
}

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#include "gam/linalg/linalg.hpp"

#include "base/cancellation.hpp"
#include "gam/linalg/dense_kernels.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Calls `use` with the kernels for this CPU's SIMD width.
template <class Use>
auto with_kernels(const Use& use) {
  base::check_cancelled();
  return base::at_register_width([&](auto width) { return use(DenseKernels<width.value>()); });
}

/// Adds a product in panels of columns, to limit scratch memory and the time between cancellation points.
void add_product(const DenseProduct& product) {
  constexpr int panel_columns = 512;
  for (int j = 0; j < product.columns; j += panel_columns) {
    DenseProduct panel = product;
    panel.columns = std::min(panel_columns, product.columns - j);
    panel.b.first += j * product.b.across;
    panel.to += j * product.stride;
    with_kernels([&](auto kernels) { kernels.add_product(panel); });
  }
}

DenseOperand as_it_is(const Matrix& a) {
  return {a.data(), 1, a.rows()};
}
DenseOperand transposed(const Matrix& a) {
  return {a.data(), a.rows(), 1};
}
Matrix product_of(int rows, int inner, int columns, int inner_of_b, const DenseOperand& a,
                  const DenseOperand& b) {
  check_shapes(inner == inner_of_b, "a product of matrices");
  Matrix c(rows, columns);
  if (!c.empty()) add_product({rows, columns, inner, 1, a, b, c.data(), rows});
  return c;
}

// Recursive factorisation and triangular solves (Gustavson, IBM J. Res. Dev. 41, 1997): nearly all work is in
// matrix products. Columns of a lower triangle L are `stride` apart.

int half_of(int n) {
  return (n / 2 + 7) / 8 * 8;
}

/// Replaces the `rows` x n matrix X by X L'^-1.
void solve_right(const double* lower, std::ptrdiff_t stride, int n, double* x, std::ptrdiff_t x_stride,
                 int rows) {
  if (n <= small_rows)
    return with_kernels([&](auto kernels) { kernels.solve_right(lower, stride, n, x, x_stride, rows); });
  const int half = half_of(n);
  double* const later = x + half * x_stride;
  solve_right(lower, stride, half, x, x_stride, rows);
  add_product({rows, n - half, half, -1, {x, 1, x_stride}, {lower + half, stride, 1}, later, x_stride});
  solve_right(lower + half * (stride + 1), stride, n - half, later, x_stride, rows);
}

/// Replaces the n x `columns` matrix X by L^-1 X or L'^-1 X.
void solve_left(const double* lower, std::ptrdiff_t stride, int n, bool is_transposed, double* x,
                std::ptrdiff_t x_stride, int columns) {
  if (n <= small_rows) {
    return with_kernels(
        [&](auto kernels) { kernels.solve_left(lower, stride, n, is_transposed, x, x_stride, columns); });
  }
  const int half = half_of(n);
  const double* const below = lower + half;
  const double* const last = lower + half * (stride + 1);
  double* const later = x + half;
  if (is_transposed) {
    solve_left(last, stride, n - half, true, later, x_stride, columns);
    add_product({half, columns, n - half, -1, {below, stride, 1}, {later, 1, x_stride}, x, x_stride});
    solve_left(lower, stride, half, true, x, x_stride, columns);
  } else {
    solve_left(lower, stride, half, false, x, x_stride, columns);
    add_product({n - half, columns, half, -1, {below, 1, stride}, {x, 1, x_stride}, later, x_stride});
    solve_left(last, stride, n - half, false, later, x_stride, columns);
  }
}

/// to -= a a' in the lower triangle of the n x n matrix `to`; may overwrite elements above the diagonal.
void subtract_square(const double* a, int n, int inner, double* to, std::ptrdiff_t stride) {
  constexpr int columns_at_once = 64;
  for (int j = 0; j < n; j += columns_at_once)
    add_product({n - j,
                 std::min(columns_at_once, n - j),
                 inner,
                 -1,
                 {a + j, 1, stride},
                 {a + j, stride, 1},
                 to + j * (stride + 1),
                 stride});
}

/// Replaces a lower triangle by the Cholesky factor; false if the matrix is not positive definite.
bool factor(double* a, std::ptrdiff_t stride, int n) {
  if (n <= small_rows) return with_kernels([&](auto kernels) { return kernels.factor(a, stride, n); });
  const int half = half_of(n);
  if (!factor(a, stride, half)) return false;
  solve_right(a, stride, half, a + half, stride, n - half);
  double* const last = a + half * (stride + 1);
  subtract_square(a + half, n - half, half, last, stride);
  return factor(last, stride, n - half);
}

}  // namespace

void check_shapes(bool agree, const char* operation) {
  if (!agree) throw std::logic_error(fmt::format("linalg: shapes do not agree in {}", operation));
}

Matrix identity(int n) {
  Matrix a(n, n);
  for (int i = 0; i < n; ++i) a(i, i) = 1;
  return a;
}

Matrix transpose(const Matrix& a) {
  Matrix t(a.cols(), a.rows());
  for (int j = 0; j < a.cols(); ++j) {
    for (int i = 0; i < a.rows(); ++i) t(j, i) = a(i, j);
  }
  return t;
}

Matrix multiply(const Matrix& a, const Matrix& b) {
  return product_of(a.rows(), a.cols(), b.cols(), b.rows(), as_it_is(a), as_it_is(b));
}
Matrix multiply_tn(const Matrix& a, const Matrix& b) {
  return product_of(a.cols(), a.rows(), b.cols(), b.rows(), transposed(a), as_it_is(b));
}
Matrix multiply_nt(const Matrix& a, const Matrix& b) {
  return product_of(a.rows(), a.cols(), b.rows(), b.cols(), as_it_is(a), transposed(b));
}
void multiply_columns(const Matrix& a, const Matrix& b, int begin, int end, Matrix& product) {
  check_shapes(a.cols() == b.rows() && product.rows() == a.rows() && product.cols() == b.cols(),
               "columns of a product");
  for (int j = begin; j < end; ++j) std::ranges::fill(product.column(j), 0.0);
  if (begin == end) return;
  add_product({a.rows(),
               end - begin,
               a.cols(),
               1,
               as_it_is(a),
               {b.column(begin).data(), 1, b.rows()},
               product.column(begin).data(),
               product.rows()});
}
std::vector<double> multiply(const Matrix& a, std::span<const double> x) {
  check_shapes(static_cast<int>(x.size()) == a.cols(), "a product of a matrix and a vector");
  std::vector<double> y(static_cast<std::size_t>(a.rows()));
  add_product(1, a.data(), a.rows(), x, y);
  return y;
}
std::vector<double> multiply_t(const Matrix& a, std::span<const double> x) {
  check_shapes(static_cast<int>(x.size()) == a.rows(), "a product of a matrix and a vector");
  std::vector<double> y(static_cast<std::size_t>(a.cols()));
  multiply_t(a.data(), a.rows(), x, y);
  return y;
}

void multiply_t(const double* a, int stride, std::span<const double> x, std::span<double> to) {
  with_kernels([&](auto kernels) {
    kernels.multiply_columns(a, stride, static_cast<int>(x.size()), static_cast<int>(to.size()), x.data(),
                             to.data());
  });
}

void add_product(double scale, const double* a, int stride, std::span<const double> x, std::span<double> to) {
  with_kernels([&](auto kernels) {
    kernels.add_columns(scale, a, stride, static_cast<int>(to.size()), static_cast<int>(x.size()), x.data(),
                        to.data());
  });
}

double dot(std::span<const double> x, std::span<const double> y) {
  check_shapes(x.size() == y.size(), "a dot product");
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

std::vector<double> difference(std::span<const double> a, std::span<const double> b) {
  check_shapes(a.size() == b.size(), "a difference of vectors");
  std::vector<double> out(a.begin(), a.end());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] -= b[i];
  return out;
}

void add_multiple(std::span<double> to, double factor, std::span<const double> from) {
  check_shapes(to.size() == from.size(), "a sum of vectors");
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += factor * from[i];
}

double largest(std::span<const double> x) {
  double most = 0;
  for (const double v : x) most = std::max(most, std::abs(v));
  return most;
}

std::vector<double> diagonal_roots(const Matrix& a) {
  std::vector<double> roots;
  roots.reserve(static_cast<std::size_t>(a.rows()));
  for (int i = 0; i < a.rows(); ++i) roots.push_back(a(i, i) > 0 ? std::sqrt(a(i, i)) : 1.0);
  return roots;
}

bool is_diagonal(const Matrix& a, int begin, int size) {
  for (int j = 0; j < size; ++j) {
    const auto column =
        a.column(begin + j).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(size));
    for (int i = 0; i < size; ++i) {
      if (i != j && column[static_cast<std::size_t>(i)] != 0) return false;
    }
  }
  return true;
}

void unscale(Matrix& a, std::span<const double> scale) {
  std::vector<double> inverse;
  inverse.reserve(scale.size());
  for (const double value : scale) inverse.push_back(1 / value);
  for (int j = 0; j < a.cols(); ++j) {
    const auto column = a.column(j);
    const double own = inverse[static_cast<std::size_t>(j)];
    for (std::size_t i = 0; i < column.size(); ++i) column[i] *= inverse[i] * own;
  }
}

void clear_upper(Matrix& a) {
  for (int j = 1; j < a.cols(); ++j) std::ranges::fill(a.column(j).first(static_cast<std::size_t>(j)), 0.0);
}

Matrix kronecker(const Matrix& a, const Matrix& b) {
  Matrix out(a.rows() * b.rows(), a.cols() * b.cols());
  for (int ja = 0; ja < a.cols(); ++ja) {
    for (int jb = 0; jb < b.cols(); ++jb) {
      for (int ia = 0; ia < a.rows(); ++ia) {
        for (int ib = 0; ib < b.rows(); ++ib) {
          out(ia * b.rows() + ib, ja * b.cols() + jb) = a(ia, ja) * b(ib, jb);
        }
      }
    }
  }
  return out;
}

std::optional<Matrix> cholesky(const Matrix& a) {
  check_shapes(a.rows() == a.cols(), "cholesky");
  Matrix lower = a;
  if (!factor(lower.data(), lower.rows(), lower.rows())) return std::nullopt;
  clear_upper(lower);
  return lower;
}

bool factor_block(Matrix& a, int begin, int end) {
  return factor(&a(begin, begin), a.rows(), end - begin);
}

void factor_rows_below(Matrix& a, int begin, int end, int first, int last) {
  solve_right(&a(begin, begin), a.rows(), end - begin, &a(first, begin), a.rows(), last - first);
}

void update_columns_after(Matrix& a, int begin, int end, int first, int last) {
  const int n = a.rows();
  add_product({n - first,
               last - first,
               end - begin,
               -1,
               {&a(first, begin), 1, n},
               {&a(first, begin), n, 1},
               &a(first, first),
               n});
}

Matrix triangular_solve(const Matrix& lower, const Matrix& b, bool is_transposed) {
  check_shapes(lower.rows() == lower.cols() && lower.rows() == b.rows(), "triangular_solve");
  Matrix x = b;
  solve_left(lower.data(), lower.rows(), lower.rows(), is_transposed, x.data(), x.rows(), x.cols());
  return x;
}

Matrix cholesky_solve(const Matrix& lower, const Matrix& b) {
  return triangular_solve(lower, triangular_solve(lower, b, false), true);
}

std::vector<double> cholesky_solve(const Matrix& lower, std::span<const double> b) {
  Matrix column(static_cast<int>(b.size()), 1);
  std::copy(b.begin(), b.end(), column.values().begin());
  const Matrix x = cholesky_solve(lower, column);
  return {x.values().begin(), x.values().end()};
}

Matrix cholesky_inverse(const Matrix& lower) {
  check_shapes(lower.rows() == lower.cols(), "cholesky_inverse");
  constexpr int columns_at_once = 64;
  const int n = lower.rows();
  Matrix inverse(n, n);
  for (int begin = 0; begin < n; begin += columns_at_once)
    cholesky_inverse_columns(lower, begin, std::min(n, begin + columns_at_once), inverse);
  for (int j = 1; j < n; ++j) {
    for (int i = 0; i < j; ++i) inverse(i, j) = inverse(j, i);
  }
  return inverse;
}

void cholesky_inverse_columns(const Matrix& lower, int begin, int end, Matrix& inverse) {
  const int n = lower.rows();
  check_shapes(inverse.rows() == n && inverse.cols() == n, "cholesky_inverse_columns");
  for (int j = begin; j < end; ++j) {
    const auto column = inverse.column(j);
    std::fill(column.begin() + begin, column.end(), 0.0);
    inverse(j, j) = 1;
  }
  // The solves skip rows above `begin`: L^-1 is zero there, and L'^-1 is not needed.
  const double* const own = lower.data() + (static_cast<std::ptrdiff_t>(n) + 1) * begin;
  for (const bool is_transposed : {false, true})
    solve_left(own, n, n - begin, is_transposed, &inverse(begin, begin), n, end - begin);
}

}  // namespace TESSERA_NAMESPACE::gam

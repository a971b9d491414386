// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/matrix.hpp>

#include <optional>
#include <span>
#include <vector>

/// Dense linear algebra on the host. Every function runs on one thread, and has the same bits on every
/// processor. Products and triangular matrices are processed in blocks by packets (dense_kernels.hpp), other
/// decompositions by Eigen (decompositions.cpp).
namespace TESSERA_NAMESPACE::gam {

/// Throws std::logic_error, which names the operation, unless the shapes of its operands agree.
void check_shapes(bool agree, const char* operation);
[[nodiscard]] Matrix identity(int n);
[[nodiscard]] Matrix transpose(const Matrix& a);
/// a b, a' b and a b'. Shapes must agree.
[[nodiscard]] Matrix multiply(const Matrix& a, const Matrix& b);
[[nodiscard]] Matrix multiply_tn(const Matrix& a, const Matrix& b);
[[nodiscard]] Matrix multiply_nt(const Matrix& a, const Matrix& b);
/// Writes columns [begin, end) of a b to the same columns of `product`.
void multiply_columns(const Matrix& a, const Matrix& b, int begin, int end, Matrix& product);
[[nodiscard]] std::vector<double> multiply(const Matrix& a, std::span<const double> x);
[[nodiscard]] std::vector<double> multiply_t(const Matrix& a, std::span<const double> x);
/// to = a' x, and to += scale a x, for a column-major `a` with columns `stride` numbers apart.
void multiply_t(const double* a, int stride, std::span<const double> x, std::span<double> to);
void add_product(double scale, const double* a, int stride, std::span<const double> x, std::span<double> to);
[[nodiscard]] double dot(std::span<const double> x, std::span<const double> y);
/// a - b.
[[nodiscard]] std::vector<double> difference(std::span<const double> a, std::span<const double> b);
/// to += factor from.
void add_multiple(std::span<double> to, double factor, std::span<const double> from);
/// The largest absolute value; 0 if empty.
[[nodiscard]] double largest(std::span<const double> x);
/// The square roots of the diagonal elements; 1 for an element that is not positive.
[[nodiscard]] std::vector<double> diagonal_roots(const Matrix& a);
/// True if the diagonal block of `size` rows and columns from `begin` on is diagonal.
[[nodiscard]] bool is_diagonal(const Matrix& a, int begin, int size);
/// Replaces a by D^-1 a D^-1, with the diagonal matrix D of `scale`.
void unscale(Matrix& a, std::span<const double> scale);
/// Sets the elements above the diagonal of a square matrix to zero.
void clear_upper(Matrix& a);
/// The Kronecker product: rows (i, k) with k fastest, as in R's `%x%`.
[[nodiscard]] Matrix kronecker(const Matrix& a, const Matrix& b);

struct SymmetricEigen {
  std::vector<double> values;  ///< ascending
  Matrix vectors;              ///< one eigenvector per column
};
/// All eigenvalues and vectors of a symmetric matrix; the lower triangle is read.
[[nodiscard]] SymmetricEigen symmetric_eigen(const Matrix& a);

/// The singular values of a matrix, descending.
[[nodiscard]] std::vector<double> singular_values(const Matrix& a);
struct RightSingular {
  std::vector<double> values;  ///< descending
  Matrix vectors;  ///< one vector for each column of the matrix; the last ones span its null space
};
/// The singular values with all right singular vectors.
[[nodiscard]] RightSingular right_singular(const Matrix& a);
/// log|det a| of a square matrix; minus infinity if it is singular.
[[nodiscard]] double log_abs_determinant(const Matrix& a);

/// The lower Cholesky factor of a symmetric positive definite matrix, with a zero strict upper part; empty if
/// the matrix is not positive definite. The lower triangle is read.
[[nodiscard]] std::optional<Matrix> cholesky(const Matrix& a);
/// Blocked Cholesky factorisation in place, for the block of columns [begin, end):
/// 1. Factor of the diagonal block; false if it is not positive definite.
/// 2. Rows [first, last) below it (a triangular solve).
/// 3. Trailing update of columns [first, last), from the diagonal down.
/// Elements above the diagonal may be overwritten.
[[nodiscard]] bool factor_block(Matrix& a, int begin, int end);
void factor_rows_below(Matrix& a, int begin, int end, int first, int last);
void update_columns_after(Matrix& a, int begin, int end, int first, int last);
/// Solves (L L') x = b for each column of b.
[[nodiscard]] Matrix cholesky_solve(const Matrix& lower, const Matrix& b);
[[nodiscard]] std::vector<double> cholesky_solve(const Matrix& lower, std::span<const double> b);
/// (L L')^-1, with full storage of the symmetric result.
[[nodiscard]] Matrix cholesky_inverse(const Matrix& lower);
/// Writes columns [begin, end) of (L L')^-1, from the diagonal down, to the same columns of `inverse`.
void cholesky_inverse_columns(const Matrix& lower, int begin, int end, Matrix& inverse);
/// L^-1 b, or L'^-1 b with `transposed`.
[[nodiscard]] Matrix triangular_solve(const Matrix& lower, const Matrix& b, bool transposed);

/// Solves a x = b for a general square matrix; empty if `a` is singular.
[[nodiscard]] std::optional<Matrix> solve(const Matrix& a, const Matrix& b);

/// a b^-1. Throws std::logic_error if the square matrix b is singular.
[[nodiscard]] Matrix after_inverse(const Matrix& a, const Matrix& b);

/// The full orthogonal factor Q (rows x rows) of a = Q R.
[[nodiscard]] Matrix full_q(const Matrix& a);

/// The columns of `b` after projecting out those of `a`, rotated: rows n… of Q'b, where Q is the full
/// orthogonal factor of `a` (m x n). They have the norms and angles of the residuals. No rows if m <= n.
[[nodiscard]] Matrix unexplained(const Matrix& a, const Matrix& b);

/// R of a = Q R, min(m, n) x n, with zeros below the diagonal. Row signs are those of Householder's
/// reflectors.
[[nodiscard]] Matrix triangle_of(const Matrix& a);

struct PivotedQr {
  Matrix r;                 ///< min(m, n) x n, upper triangular
  std::vector<int> pivots;  ///< column i of `r` is column pivots[i] of the matrix
};
/// QR with column pivoting: the column with the largest remaining norm is next.
[[nodiscard]] PivotedQr pivoted_qr(const Matrix& a);

}  // namespace TESSERA_NAMESPACE::gam

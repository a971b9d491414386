// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/matrix.hpp>

#include <optional>
#include <span>
#include <vector>

/// Dense linear algebra on the host: thin, checked calls of BLAS and LAPACK. Every function runs on one
/// thread, so that its bits do not depend on the job's number of threads.
namespace TESSERA_NAMESPACE::gam {

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
/// to = a' x, and to += factor a x, for a column-major `a` with columns `stride` numbers apart.
void multiply_t(const double* a, int stride, std::span<const double> x, std::span<double> to);
void add_product(double factor, const double* a, int stride, std::span<const double> x, std::span<double> to);
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
/// All eigenvalues and vectors of a symmetric matrix (dsyevd; the lower triangle is read).
[[nodiscard]] SymmetricEigen symmetric_eigen(const Matrix& a);

/// The singular values of a matrix, descending (dgesvd).
[[nodiscard]] std::vector<double> singular_values(Matrix a);
struct RightSingular {
  std::vector<double> values;  ///< descending
  Matrix vectors;  ///< one vector for each column of the matrix; the last ones span its null space
};
/// The singular values with all right singular vectors.
[[nodiscard]] RightSingular right_singular(Matrix a);
/// log|det a| of a square matrix; minus infinity if it is singular (dgetrf).
[[nodiscard]] double log_abs_determinant(Matrix a);

/// The lower Cholesky factor of a symmetric positive definite matrix, with a zero strict upper part; empty if
/// the matrix is not positive definite (dpotrf; the lower triangle is read).
[[nodiscard]] std::optional<Matrix> cholesky(const Matrix& a);
/// Blocked Cholesky factorisation in place, for the block of columns [begin, end):
/// 1. Factor of the diagonal block (dpotrf); false if it is not positive definite.
/// 2. Rows [first, last) below it (dtrsm).
/// 3. Trailing update of columns [first, last) (dsyrk, dgemm).
[[nodiscard]] bool factor_block(Matrix& a, int begin, int end);
void factor_rows_below(Matrix& a, int begin, int end, int first, int last);
void update_columns_after(Matrix& a, int begin, int end, int first, int last);
/// Solves (L L') x = b for each column of b.
[[nodiscard]] Matrix cholesky_solve(const Matrix& lower, const Matrix& b);
[[nodiscard]] std::vector<double> cholesky_solve(const Matrix& lower, std::span<const double> b);
/// (L L')^-1, with full storage of the symmetric result (dpotri).
[[nodiscard]] Matrix cholesky_inverse(const Matrix& lower);
/// Writes columns [begin, end) of (L L')^-1, from the diagonal down, to the same columns of `inverse`
/// (dtrsm).
void cholesky_inverse_columns(const Matrix& lower, int begin, int end, Matrix& inverse);
/// L^-1 b, or L'^-1 b with `transposed` (dtrsm).
[[nodiscard]] Matrix triangular_solve(const Matrix& lower, const Matrix& b, bool transposed);

/// Solves a x = b for a general square matrix (dgesv); empty if `a` is singular.
[[nodiscard]] std::optional<Matrix> solve(const Matrix& a, const Matrix& b);

/// a b^-1. Throws std::logic_error if the square matrix b is singular.
[[nodiscard]] Matrix after_inverse(const Matrix& a, const Matrix& b);

/// The full orthogonal factor Q (rows x rows) of a = Q R (dgeqrf, dorgqr).
[[nodiscard]] Matrix full_q(const Matrix& a);

/// The columns of `b` after projecting out those of `a`, rotated: rows n… of Q'b, where Q is the full
/// orthogonal factor of `a` (m x n; dgeqrf, dormqr). They have the norms and angles of the residuals. No rows
/// if m <= n.
[[nodiscard]] Matrix unexplained(const Matrix& a, const Matrix& b);

/// R of a = Q R, min(m, n) x n, with zeros below the diagonal (dgeqrf). Row signs are LAPACK's.
[[nodiscard]] Matrix triangle_of(Matrix a);

struct PivotedQr {
  Matrix r;                 ///< min(m, n) x n, upper triangular
  std::vector<int> pivots;  ///< column i of `r` is column pivots[i] of the matrix
};
/// QR with column pivoting (dgeqp3).
[[nodiscard]] PivotedQr pivoted_qr(const Matrix& a);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/matrix.hpp>

#include <optional>
#include <span>
#include <vector>

/// Single-threaded dense linear algebra; results are bitwise equal on every CPU. Products, Cholesky factors
/// and triangular solves use dense_kernels.hpp; other decompositions use Eigen.
namespace TESSERA_NAMESPACE::gam {

/// Throws std::logic_error with the name of the operation if `agree` is false.
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
/// to = a' x, and to += scale a x, for a column-major `a` with columns `stride` apart.
void multiply_t(const double* a, int stride, std::span<const double> x, std::span<double> to);
void add_product(double scale, const double* a, int stride, std::span<const double> x, std::span<double> to);
[[nodiscard]] double dot(std::span<const double> x, std::span<const double> y);
[[nodiscard]] std::vector<double> difference(std::span<const double> a, std::span<const double> b);
void add_multiple(std::span<double> to, double factor, std::span<const double> from);
/// The largest absolute value; 0 if empty.
[[nodiscard]] double largest(std::span<const double> x);
/// Square roots of the diagonal; 1 in place of a diagonal element <= 0.
[[nodiscard]] std::vector<double> diagonal_roots(const Matrix& a);
/// Whether the diagonal block of `size` rows from `begin` on is a diagonal matrix.
[[nodiscard]] bool is_diagonal(const Matrix& a, int begin, int size);
/// a = D^-1 a D^-1, where D = diag(scale).
void unscale(Matrix& a, std::span<const double> scale);
void clear_upper(Matrix& a);
/// The Kronecker product: rows (i, k) with k fastest, as in R's `%x%`.
[[nodiscard]] Matrix kronecker(const Matrix& a, const Matrix& b);

struct SymmetricEigen {
  std::vector<double> values;  ///< ascending
  Matrix vectors;              ///< one eigenvector per column
};
/// All eigenvalues and eigenvectors of a symmetric matrix; reads only the lower triangle.
[[nodiscard]] SymmetricEigen symmetric_eigen(const Matrix& a);

/// The singular values, descending.
[[nodiscard]] std::vector<double> singular_values(const Matrix& a);
struct RightSingular {
  std::vector<double> values;  ///< descending
  Matrix vectors;              ///< a.cols() columns; the last ones span the null space
};
[[nodiscard]] RightSingular right_singular(const Matrix& a);
/// log|det a|; minus infinity if `a` is singular.
[[nodiscard]] double log_abs_determinant(const Matrix& a);

/// Lower Cholesky factor; empty if `a` is not positive definite. Reads only the lower triangle.
[[nodiscard]] std::optional<Matrix> cholesky(const Matrix& a);
/// Steps of a blocked in-place Cholesky factorisation, for the block of columns [begin, end):
/// 1. Factors the diagonal block; false if it is not positive definite.
/// 2. Triangular solve for rows [first, last) below the block.
/// 3. Trailing update of columns [first, last), from the diagonal down.
/// Elements above the diagonal may be overwritten.
[[nodiscard]] bool factor_block(Matrix& a, int begin, int end);
void factor_rows_below(Matrix& a, int begin, int end, int first, int last);
void update_columns_after(Matrix& a, int begin, int end, int first, int last);
/// Solves L L' x = b for each column of b.
[[nodiscard]] Matrix cholesky_solve(const Matrix& lower, const Matrix& b);
[[nodiscard]] std::vector<double> cholesky_solve(const Matrix& lower, std::span<const double> b);
/// (L L')^-1, both triangles.
[[nodiscard]] Matrix cholesky_inverse(const Matrix& lower);
/// Writes columns [begin, end) of (L L')^-1, from the diagonal down, to the same columns of `inverse`.
void cholesky_inverse_columns(const Matrix& lower, int begin, int end, Matrix& inverse);
/// L^-1 b, or L'^-1 b with `transposed`.
[[nodiscard]] Matrix triangular_solve(const Matrix& lower, const Matrix& b, bool transposed);

/// Solves a x = b by LU; empty if `a` is singular.
[[nodiscard]] std::optional<Matrix> solve(const Matrix& a, const Matrix& b);

/// a b^-1. Throws std::logic_error if b is singular.
[[nodiscard]] Matrix after_inverse(const Matrix& a, const Matrix& b);

/// The full orthogonal factor Q (rows x rows) of a = Q R.
[[nodiscard]] Matrix full_q(const Matrix& a);

/// The last m - n rows of Q'b, where Q is the full orthogonal factor of `a` (m x n). Its columns have the
/// norms and angles of the residuals of `b` regressed on `a`. No rows if m <= n.
[[nodiscard]] Matrix unexplained(const Matrix& a, const Matrix& b);

/// R of a = Q R, min(m, n) x n, zero below the diagonal. Diagonal elements may be negative.
[[nodiscard]] Matrix triangle_of(const Matrix& a);

struct PivotedQr {
  Matrix r;                 ///< min(m, n) x n, upper triangular
  std::vector<int> pivots;  ///< column i of `r` is column pivots[i] of the matrix
};
[[nodiscard]] PivotedQr pivoted_qr(const Matrix& a);

}  // namespace TESSERA_NAMESPACE::gam

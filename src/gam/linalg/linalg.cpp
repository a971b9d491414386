// SPDX-License-Identifier: Apache-2.0
#include "gam/linalg/linalg.hpp"

#include "base/go_on.hpp"
#include "base/math/elementary.hpp"
#include "base/stack_left.hpp"
#include "gam/linalg/blas_buffer.hpp"

#include <cblas.h>
#include <fmt/core.h>
#include <lapacke.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <mutex>
#include <new>
#include <stdexcept>

// Only OpenBLAS has these functions, and other versions of cblas.h do not declare them.
extern "C" {
// NOLINTNEXTLINE(readability-redundant-declaration)
void openblas_set_num_threads(int) __attribute__((weak));
// NOLINTNEXTLINE(readability-redundant-declaration)
int openblas_get_num_threads() __attribute__((weak));
}

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Returns a LAPACK result. A cancellation point: the call may have taken seconds.
lapack_int ended(lapack_int info) {
  base::go_on();
  return info;
}

/// Limits BLAS and LAPACK to one thread while any thread of this process calls them here: the bits of a
/// blocked algorithm depend on the number of threads. Turns off LAPACKE's NaN check, which reports a NaN as
/// an invalid argument; callers detect a NaN in results. Both settings are process-wide, and the process may
/// be another program's, so the end of the last call restores them. Cost: below a microsecond.
class BlasCall {
 public:
  BlasCall() {
    base::go_on();
    require_stack();
    if (is_joined()) return;
    const std::lock_guard lock(changing());
    if (calls() == 0) make_settings();
    ++calls();  // after the settings are made: other calls may join from here on
  }
  ~BlasCall() {
    if (is_left_to_others()) return;
    const std::lock_guard lock(changing());
    if (calls().fetch_sub(1) == 1) restore_settings();
  }
  BlasCall(const BlasCall&) = delete;
  BlasCall& operator=(const BlasCall&) = delete;

 private:
  BlasBuffer buffer_;  // first member: if its constructor throws, there is no setting to restore

  /// OpenBLAS's kernels have buffers of up to 33 KiB each on the stack, and call one another.
  static void require_stack() {
    constexpr std::size_t kib = 128;
    base::require_stack(kib, "BLAS");
  }

  static void make_settings() noexcept {
    nancheck() = LAPACKE_get_nancheck();
    LAPACKE_set_nancheck(0);
    if (openblas_set_num_threads == nullptr) return;
    threads() = openblas_get_num_threads();
    if (threads() != 1) openblas_set_num_threads(1);
  }
  static void restore_settings() noexcept {
    LAPACKE_set_nancheck(nancheck());
    if (openblas_set_num_threads != nullptr && threads() != 1) openblas_set_num_threads(threads());
  }

  /// Joins other calls in progress, for which the settings are made. False if there are none.
  static bool is_joined() noexcept {
    int others = calls();
    while (others > 0) {
      if (calls().compare_exchange_weak(others, others + 1)) return true;
    }
    return false;
  }
  /// Ends this call if others still need the settings. False if it is the last.
  static bool is_left_to_others() noexcept {
    int all = calls();
    while (all > 1) {
      if (calls().compare_exchange_weak(all, all - 1)) return true;
    }
    return false;
  }

  static std::atomic<int>& calls() noexcept {
    static std::atomic<int> count = 0;
    return count;
  }
  static std::mutex& changing() noexcept {
    static std::mutex mutex;
    return mutex;
  }
  // The original setting. The mutex `changing` guards it, and guards `calls` when it leaves 0 or returns to
  // 0.
  static int& threads() noexcept {
    static int count = 1;
    return count;
  }
  static int& nancheck() noexcept {
    static int flag = 1;
    return flag;
  }
};

int leading(const Matrix& a) {
  return std::max(1, a.rows());
}

void check_info(const char* routine, lapack_int info) {
  if (info == LAPACK_WORK_MEMORY_ERROR) throw std::bad_alloc();
  if (info != 0) throw std::logic_error(fmt::format("{} returned info = {}", routine, info));
}

void check_shapes(bool agree, const char* what) {
  if (!agree) throw std::logic_error(fmt::format("linalg: shapes do not agree in {}", what));
}

Matrix gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, const Matrix& a, const Matrix& b) {
  const BlasCall call;
  const int m = ta == CblasNoTrans ? a.rows() : a.cols();
  const int k = ta == CblasNoTrans ? a.cols() : a.rows();
  const int n = tb == CblasNoTrans ? b.cols() : b.rows();
  check_shapes(k == (tb == CblasNoTrans ? b.rows() : b.cols()), "a product of matrices");
  Matrix c(m, n);
  if (c.empty() || k == 0) return c;
  cblas_dgemm(CblasColMajor, ta, tb, m, n, k, 1, a.data(), leading(a), b.data(), leading(b), 0, c.data(), m);
  return c;
}

std::vector<double> gemv(CBLAS_TRANSPOSE trans, const Matrix& a, std::span<const double> x) {
  const BlasCall call;
  const int m = a.rows();
  const int n = a.cols();
  check_shapes(static_cast<int>(x.size()) == (trans == CblasNoTrans ? n : m),
               "a product of a matrix and a vector");
  std::vector<double> y(static_cast<std::size_t>(trans == CblasNoTrans ? m : n));
  if (a.empty()) return y;
  cblas_dgemv(CblasColMajor, trans, m, n, 1, a.data(), m, x.data(), 1, 0, y.data(), 1);
  return y;
}

}  // namespace

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
  return gemm(CblasNoTrans, CblasNoTrans, a, b);
}
Matrix multiply_tn(const Matrix& a, const Matrix& b) {
  return gemm(CblasTrans, CblasNoTrans, a, b);
}
Matrix multiply_nt(const Matrix& a, const Matrix& b) {
  return gemm(CblasNoTrans, CblasTrans, a, b);
}
void multiply_columns(const Matrix& a, const Matrix& b, int begin, int end, Matrix& product) {
  const BlasCall call;
  check_shapes(a.cols() == b.rows() && product.rows() == a.rows() && product.cols() == b.cols(),
               "columns of a product");
  const int m = a.rows();
  const int k = a.cols();
  const int n = end - begin;
  if (m == 0 || n == 0) return;
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a.data(), leading(a),
              b.column(begin).data(), leading(b), 0, product.column(begin).data(), m);
}
std::vector<double> multiply(const Matrix& a, std::span<const double> x) {
  return gemv(CblasNoTrans, a, x);
}
std::vector<double> multiply_t(const Matrix& a, std::span<const double> x) {
  return gemv(CblasTrans, a, x);
}

void multiply_t(const double* a, int stride, std::span<const double> x, std::span<double> to) {
  const BlasCall call;
  cblas_dgemv(CblasColMajor, CblasTrans, static_cast<int>(x.size()), static_cast<int>(to.size()), 1, a,
              stride, x.data(), 1, 0, to.data(), 1);
}

void add_product(double factor, const double* a, int stride, std::span<const double> x,
                 std::span<double> to) {
  const BlasCall call;
  cblas_dgemv(CblasColMajor, CblasNoTrans, static_cast<int>(to.size()), static_cast<int>(x.size()), factor, a,
              stride, x.data(), 1, 1, to.data(), 1);
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

SymmetricEigen symmetric_eigen(const Matrix& a) {
  const BlasCall call;
  check_shapes(a.rows() == a.cols(), "symmetric_eigen");
  const int n = a.rows();
  SymmetricEigen out{std::vector<double>(static_cast<std::size_t>(n)), a};
  if (n == 0) return out;
  check_info("dsyevd",
             ended(LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'L', n, out.vectors.data(), n, out.values.data())));
  return out;
}

std::vector<double> singular_values(Matrix a) {
  const BlasCall call;
  const int m = a.rows();
  const int n = a.cols();
  std::vector<double> values(static_cast<std::size_t>(std::min(m, n)));
  if (values.empty()) return values;
  std::vector<double> superdiagonal(values.size());
  check_info("dgesvd", ended(LAPACKE_dgesvd(LAPACK_COL_MAJOR, 'N', 'N', m, n, a.data(), leading(a),
                                            values.data(), nullptr, 1, nullptr, 1, superdiagonal.data())));
  return values;
}

RightSingular right_singular(Matrix a) {
  const BlasCall call;
  const int m = a.rows();
  const int n = a.cols();
  RightSingular out{std::vector<double>(static_cast<std::size_t>(std::min(m, n))), identity(n)};
  if (out.values.empty()) return out;
  std::vector<double> superdiagonal(out.values.size());
  Matrix transposed(n, n);
  check_info("dgesvd",
             ended(LAPACKE_dgesvd(LAPACK_COL_MAJOR, 'N', 'A', m, n, a.data(), leading(a), out.values.data(),
                                  nullptr, 1, transposed.data(), n, superdiagonal.data())));
  out.vectors = transpose(transposed);
  return out;
}

double log_abs_determinant(Matrix a) {
  const BlasCall call;
  check_shapes(a.rows() == a.cols(), "log_abs_determinant");
  const int n = a.rows();
  if (n == 0) return 0;
  std::vector<lapack_int> pivots(static_cast<std::size_t>(n));
  const lapack_int info = ended(LAPACKE_dgetrf(LAPACK_COL_MAJOR, n, n, a.data(), n, pivots.data()));
  if (info < 0) check_info("dgetrf", info);
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += base::log(std::abs(a(i, i)));
  return sum;
}

std::optional<Matrix> cholesky(const Matrix& a) {
  const BlasCall call;
  check_shapes(a.rows() == a.cols(), "cholesky");
  Matrix lower = a;
  const int n = a.rows();
  if (n == 0) return lower;
  const lapack_int info = ended(LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', n, lower.data(), n));
  if (info > 0) return std::nullopt;
  check_info("dpotrf", info);
  clear_upper(lower);
  return lower;
}

bool factor_block(Matrix& a, int begin, int end) {
  const BlasCall call;
  const lapack_int info =
      ended(LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', end - begin, &a(begin, begin), a.rows()));
  if (info > 0) return false;
  check_info("dpotrf", info);
  return true;
}

void factor_rows_below(Matrix& a, int begin, int end, int first, int last) {
  const BlasCall call;
  cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, last - first, end - begin, 1,
              &a(begin, begin), a.rows(), &a(first, begin), a.rows());
}

void update_columns_after(Matrix& a, int begin, int end, int first, int last) {
  const BlasCall call;
  const int n = a.rows();
  cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, last - first, end - begin, -1, &a(first, begin), n, 1,
              &a(first, first), n);
  if (last == n) return;
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, n - last, last - first, end - begin, -1,
              &a(last, begin), n, &a(first, begin), n, 1, &a(last, first), n);
}

Matrix triangular_solve(const Matrix& lower, const Matrix& b, bool transposed) {
  const BlasCall call;
  check_shapes(lower.rows() == lower.cols() && lower.rows() == b.rows(), "triangular_solve");
  Matrix x = b;
  const int m = b.rows();
  const int n = b.cols();
  if (x.empty()) return x;
  cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, transposed ? CblasTrans : CblasNoTrans, CblasNonUnit, m,
              n, 1, lower.data(), m, x.data(), m);
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
  const BlasCall call;
  check_shapes(lower.rows() == lower.cols(), "cholesky_inverse");
  Matrix inverse = lower;
  const int n = lower.rows();
  if (n == 0) return inverse;
  check_info("dpotri", ended(LAPACKE_dpotri(LAPACK_COL_MAJOR, 'L', n, inverse.data(), n)));
  for (int j = 1; j < n; ++j) {
    for (int i = 0; i < j; ++i) inverse(i, j) = inverse(j, i);
  }
  return inverse;
}

void cholesky_inverse_columns(const Matrix& lower, int begin, int end, Matrix& inverse) {
  const BlasCall call;
  const int n = lower.rows();
  check_shapes(inverse.rows() == n && inverse.cols() == n, "cholesky_inverse_columns");
  for (int j = begin; j < end; ++j) {
    const auto column = inverse.column(j);
    std::fill(column.begin() + begin, column.end(), 0.0);
    inverse(j, j) = 1;
  }
  // Rows above `begin` are not needed: L^-1 is zero there, and solving with L' goes from the last row up.
  const double* const own = lower.data() + (static_cast<std::ptrdiff_t>(n) + 1) * begin;
  for (const CBLAS_TRANSPOSE side : {CblasNoTrans, CblasTrans})
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, side, CblasNonUnit, n - begin, end - begin, 1, own, n,
                &inverse(begin, begin), n);
}

std::optional<Matrix> solve(const Matrix& a, const Matrix& b) {
  const BlasCall call;
  check_shapes(a.rows() == a.cols() && a.rows() == b.rows(), "solve");
  Matrix factors = a;
  Matrix x = b;
  const int n = a.rows();
  const int columns = b.cols();
  if (x.empty()) return x;
  std::vector<lapack_int> pivots(static_cast<std::size_t>(n));
  const lapack_int info =
      ended(LAPACKE_dgesv(LAPACK_COL_MAJOR, n, columns, factors.data(), n, pivots.data(), x.data(), n));
  if (info > 0) return std::nullopt;
  check_info("dgesv", info);
  return x;
}

Matrix after_inverse(const Matrix& a, const Matrix& b) {
  const auto solved = solve(transpose(b), transpose(a));
  if (!solved) throw std::logic_error("after_inverse: a singular matrix");
  return transpose(*solved);
}

Matrix full_q(const Matrix& a) {
  const BlasCall call;
  const int m = a.rows();
  const int n = a.cols();
  const int reflectors = std::min(m, n);
  Matrix q(m, m);
  std::copy_n(a.data(), static_cast<std::size_t>(m) * static_cast<std::size_t>(reflectors), q.data());
  if (m == 0) return q;
  std::vector<double> tau(static_cast<std::size_t>(m));
  check_info("dgeqrf", ended(LAPACKE_dgeqrf(LAPACK_COL_MAJOR, m, reflectors, q.data(), m, tau.data())));
  check_info("dorgqr", ended(LAPACKE_dorgqr(LAPACK_COL_MAJOR, m, m, reflectors, q.data(), m, tau.data())));
  return q;
}

Matrix unexplained(const Matrix& a, const Matrix& b) {
  const BlasCall call;
  check_shapes(a.rows() == b.rows(), "unexplained");
  const int m = a.rows();
  const int n = a.cols();
  const int columns = b.cols();
  if (m <= n) return {0, columns};
  if (n == 0 || columns == 0) return b;
  Matrix factors = a;
  Matrix product = b;
  std::vector<double> tau(static_cast<std::size_t>(n));
  check_info("dgeqrf", ended(LAPACKE_dgeqrf(LAPACK_COL_MAJOR, m, n, factors.data(), m, tau.data())));
  check_info("dormqr", ended(LAPACKE_dormqr(LAPACK_COL_MAJOR, 'L', 'T', m, columns, n, factors.data(), m,
                                            tau.data(), product.data(), m)));
  Matrix rest(m - n, columns);
  for (int j = 0; j < columns; ++j) {
    const auto column = product.column(j).subspan(static_cast<std::size_t>(n));
    std::copy(column.begin(), column.end(), rest.column(j).begin());
  }
  return rest;
}

Matrix triangle_of(Matrix a) {
  const BlasCall call;
  const int m = a.rows();
  const int n = a.cols();
  Matrix r(std::min(m, n), n);
  if (r.empty()) return r;
  std::vector<double> tau(static_cast<std::size_t>(r.rows()));
  check_info("dgeqrf", ended(LAPACKE_dgeqrf(LAPACK_COL_MAJOR, m, n, a.data(), m, tau.data())));
  for (int j = 0; j < n; ++j)
    std::copy_n(a.column(j).begin(), std::min(j + 1, r.rows()), r.column(j).begin());
  return r;
}

PivotedQr pivoted_qr(const Matrix& a) {
  const BlasCall call;
  const int m = a.rows();
  const int n = a.cols();
  PivotedQr out{Matrix(std::min(m, n), n), std::vector<int>(static_cast<std::size_t>(n))};
  Matrix factors = a;
  if (a.empty()) {
    for (int j = 0; j < n; ++j) out.pivots[static_cast<std::size_t>(j)] = j;
    return out;
  }
  std::vector<double> tau(static_cast<std::size_t>(out.r.rows()));
  check_info("dgeqp3",
             ended(LAPACKE_dgeqp3(LAPACK_COL_MAJOR, m, n, factors.data(), m, out.pivots.data(), tau.data())));
  for (int& pivot : out.pivots) --pivot;
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i <= std::min(j, out.r.rows() - 1); ++i) out.r(i, j) = factors(i, j);
  }
  return out;
}

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
// Decompositions by Eigen, in scalar arithmetic: results are bitwise equal on every CPU.
#include "base/cancellation.hpp"
#include "base/math/elementary.hpp"
#include "gam/linalg/linalg.hpp"

#include <fmt/core.h>

// Eigen's namespace is renamed, because the linker would merge these templates with a program's own Eigen.
#define Eigen tessera_eigen
#define EIGEN_DONT_VECTORIZE
#define EIGEN_DONT_PARALLELIZE
#define EIGEN_STACK_ALLOCATION_LIMIT 4096
#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <Eigen/QR>
#include <Eigen/SVD>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>

namespace TESSERA_NAMESPACE::gam {
namespace {

using Dense = Eigen::MatrixXd;

/// `a` as an Eigen matrix. A cancellation point: a decomposition may take seconds. Sets constant cache sizes,
/// because Eigen derives its block sizes from them, and block sizes affect rounding.
Eigen::Map<const Dense> in_eigen(const Matrix& a) {
  base::check_cancelled();
  constexpr std::ptrdiff_t kib = 1024;
  [[maybe_unused]] static const bool are_set =
      (Eigen::setCpuCacheSizes(32 * kib, 512 * kib, 2048 * kib), true);
  return {a.data(), a.rows(), a.cols()};
}
/// Evaluates an Eigen expression. A cancellation point.
template <class Expression>
Matrix from_eigen(const Expression& a) {
  base::check_cancelled();
  Matrix out(static_cast<int>(a.rows()), static_cast<int>(a.cols()));
  Eigen::Map<Dense>(out.data(), a.rows(), a.cols()) = a;
  return out;
}
template <class Decomposition>
void require_success(const Decomposition& found, const char* what) {
  if (found.info() != Eigen::Success) throw std::logic_error(fmt::format("{} did not converge", what));
}
std::vector<double> values_of(const Eigen::VectorXd& values) {
  return {values.begin(), values.end()};
}

}  // namespace

SymmetricEigen symmetric_eigen(const Matrix& a) {
  check_shapes(a.rows() == a.cols(), "symmetric_eigen");
  if (a.empty()) return {{}, a};
  const Eigen::SelfAdjointEigenSolver<Dense> found(in_eigen(a));
  require_success(found, "symmetric_eigen");
  return {values_of(found.eigenvalues()), from_eigen(found.eigenvectors())};
}

std::vector<double> singular_values(const Matrix& a) {
  if (a.empty()) return {};
  const Eigen::BDCSVD<Dense> found(in_eigen(a));
  require_success(found, "singular_values");
  return values_of(found.singularValues());
}

RightSingular right_singular(const Matrix& a) {
  if (a.empty()) return {{}, identity(a.cols())};
  const Eigen::BDCSVD<Dense> found(in_eigen(a), Eigen::ComputeFullV);
  require_success(found, "right_singular");
  return {values_of(found.singularValues()), from_eigen(found.matrixV())};
}

double log_abs_determinant(const Matrix& a) {
  check_shapes(a.rows() == a.cols(), "log_abs_determinant");
  if (a.empty()) return 0;
  const Matrix factors = from_eigen(Eigen::PartialPivLU<Dense>(in_eigen(a)).matrixLU());
  double sum = 0;
  for (int i = 0; i < a.rows(); ++i) sum += base::log(std::abs(factors(i, i)));
  return sum;
}

std::optional<Matrix> solve(const Matrix& a, const Matrix& b) {
  check_shapes(a.rows() == a.cols() && a.rows() == b.rows(), "solve");
  if (b.empty()) return b;
  const Eigen::PartialPivLU<Dense> factors(in_eigen(a));
  if ((factors.matrixLU().diagonal().array() == 0).any()) return std::nullopt;
  return from_eigen(factors.solve(in_eigen(b)));
}

Matrix after_inverse(const Matrix& a, const Matrix& b) {
  const auto solved = solve(transpose(b), transpose(a));
  if (!solved) throw std::logic_error("after_inverse: a singular matrix");
  return transpose(*solved);
}

Matrix full_q(const Matrix& a) {
  if (a.empty()) return identity(a.rows());
  return from_eigen(Dense(Eigen::HouseholderQR<Dense>(in_eigen(a)).householderQ()));
}

Matrix unexplained(const Matrix& a, const Matrix& b) {
  check_shapes(a.rows() == b.rows(), "unexplained");
  const int left = a.rows() - a.cols();
  if (left <= 0) return {0, b.cols()};
  if (a.empty() || b.empty()) return b;
  const Eigen::HouseholderQR<Dense> factors(in_eigen(a));
  return from_eigen(Dense(factors.householderQ().adjoint() * in_eigen(b)).bottomRows(left));
}

Matrix triangle_of(const Matrix& a) {
  const int rows = std::min(a.rows(), a.cols());
  if (a.empty()) return {rows, a.cols()};
  const Eigen::HouseholderQR<Dense> factors(in_eigen(a));
  return from_eigen(Dense(factors.matrixQR().topRows(rows).triangularView<Eigen::Upper>()));
}

PivotedQr pivoted_qr(const Matrix& a) {
  const int rows = std::min(a.rows(), a.cols());
  PivotedQr out{Matrix(rows, a.cols()), std::vector<int>(static_cast<std::size_t>(a.cols()))};
  if (a.empty()) {
    for (int j = 0; j < a.cols(); ++j) out.pivots[static_cast<std::size_t>(j)] = j;
    return out;
  }
  const Eigen::ColPivHouseholderQR<Dense> factors(in_eigen(a));
  out.r = from_eigen(Dense(factors.matrixQR().topRows(rows).triangularView<Eigen::Upper>()));
  std::ranges::copy(factors.colsPermutation().indices(), out.pivots.begin());
  return out;
}

}  // namespace TESSERA_NAMESPACE::gam

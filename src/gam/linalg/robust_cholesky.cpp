// SPDX-License-Identifier: Apache-2.0
#include "gam/linalg/robust_cholesky.hpp"

#include "gam/linalg/linalg.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Copy with zeros in the rows and columns of nonzero, but negligible diagonal elements; empty: no such rows.
std::optional<Matrix> without_lost(Matrix a) {
  constexpr double rounding = std::numeric_limits<double>::epsilon();
  const int n = a.rows();
  double largest = 0;
  for (int i = 0; i < n; ++i) largest = std::max(largest, a(i, i));
  bool any = false;
  for (int i = 0; i < n; ++i) {
    if (a(i, i) > n * rounding * largest || a(i, i) == 0) continue;
    for (int j = 0; j < n; ++j) a(i, j) = a(j, i) = 0;
    any = true;
  }
  if (!any) return std::nullopt;
  return a;
}

}  // namespace

Matrix robust_cholesky(const Matrix& given) {
  constexpr double rounding = std::numeric_limits<double>::epsilon();
  Matrix a = given;
  const int n = a.rows();
  const std::vector<double> scale = diagonal_roots(a);
  unscale(a, scale);
  // Undetermined columns need a ridge of rounding error size; nearly dependent columns need a larger ridge.
  for (double ridge = 0;; ridge = ridge == 0 ? 16 * rounding : 16 * ridge) {
    Matrix shifted = a;
    for (int i = 0; i < n; ++i) shifted(i, i) += ridge;
    if (auto lower = cholesky(shifted)) {
      for (int j = 0; j < n; ++j) {
        for (int i = 0; i < n; ++i) (*lower)(i, j) *= scale[static_cast<std::size_t>(i)];
      }
      return std::move(*lower);
    }
    if (!(ridge < 1)) {
      if (const std::optional<Matrix> rest = without_lost(given)) return robust_cholesky(*rest);
    }
    if (!std::isfinite(ridge))
      throw std::logic_error("robust_cholesky: a matrix is not positive semidefinite");
  }
}

}  // namespace TESSERA_NAMESPACE::gam

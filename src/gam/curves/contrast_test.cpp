// SPDX-License-Identifier: Apache-2.0
#include "gam/curves/contrast_test.hpp"

#include "base/at.hpp"
#include "gam/linalg/linalg.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace TESSERA_NAMESPACE::gam {

ContrastTest::ContrastTest(Matrix contrasts) : contrasts_(std::move(contrasts)) {
  const RightSingular singular = right_singular(contrasts_);
  constexpr double rounding = 1e-12;
  const auto rank = static_cast<int>(std::ranges::count_if(
      singular.values, [&](double value) { return value > rounding * singular.values.front(); }));
  basis_ = Matrix(contrasts_.cols(), rank);
  for (int j = 0; j < rank; ++j) std::ranges::copy(singular.vectors.column(j), basis_.column(j).begin());
  rows_ = transpose(multiply(contrasts_, basis_));
}

std::vector<double> ContrastTest::estimates(std::span<const double> coef) const {
  return multiply_t(contrasts_, coef);
}

ContrastTest::Result ContrastTest::result(std::span<const double> coef, const Matrix& covariance,
                                          double shift, double tolerance) const {
  std::vector<double> moved = estimates(coef);
  for (double& one : moved) one = std::copysign(std::max(0.0, std::abs(one) - shift), one);
  const std::vector<double> in_basis = multiply_t(basis_, moved);
  const SymmetricEigen eigen = symmetric_eigen(multiply_nt(multiply(rows_, covariance), rows_));
  Result result{.statistic = 0, .df = 0};
  for (int j = 0; j < rows_.rows(); ++j) {
    const double value = eigen.values[base::at(j)];
    if (!(value > tolerance * eigen.values.back() && value > 0)) continue;
    const double along = dot(eigen.vectors.column(j), in_basis);
    result.statistic += along * along / value;
    ++result.df;
  }
  return result;
}

}  // namespace TESSERA_NAMESPACE::gam

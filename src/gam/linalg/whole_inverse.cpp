// SPDX-License-Identifier: Apache-2.0
#include "gam/linalg/whole_inverse.hpp"

#include "base/at.hpp"
#include "gam/linalg/linalg.hpp"

#include <cmath>
#include <cstddef>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

Matrix pseudo_inverse(Matrix a) {
  const std::vector<double> scale = diagonal_roots(a);
  unscale(a, scale);
  const SymmetricEigen eigen = symmetric_eigen(a);
  constexpr double least = 1e-12;
  Matrix half(a.rows(), a.rows());
  for (int i = 0; i < a.rows(); ++i) {
    if (eigen.values[at(i)] > least * eigen.values.back())
      add_multiple(half.column(i), 1 / std::sqrt(eigen.values[at(i)]), eigen.vectors.column(i));
  }
  Matrix inverse = multiply_nt(half, half);
  unscale(inverse, scale);
  return inverse;
}

}  // namespace

WholeInverse::WholeInverse(const PartedMatrix& inverse) : inverse_(inverse) {
  if (!inverse.is_parted()) return;
  core_inverse_ = pseudo_inverse(inverse.core);
  border_square_ = multiply_tn(inverse.border, inverse.border);
  const Matrix weighted = multiply(inverse.border, core_inverse_);
  diagonal_inverse_ = inverse.diagonal;
  for (int j = 0; j < weighted.cols(); ++j) {
    const auto own = weighted.column(j);
    const auto border = inverse.border.column(j);
    for (std::size_t i = 0; i < own.size(); ++i) diagonal_inverse_[i] -= own[i] * border[i];
  }
}

std::vector<double> WholeInverse::times(std::span<const double> x) const {
  if (!inverse_.is_parted()) return multiply(inverse_, x);
  const Part& part = inverse_.part();
  const std::vector<double> of_core = core_of(x, part);
  const std::vector<double> of_part = part_of(x, part);
  // The part's elements of V x are V_pc (x_c + V_cc^-1 V_cp x_p) + D^-1 x_p; beside = V_cp x_p.
  const std::vector<double> beside = multiply_t(inverse_.border, of_part);
  std::vector<double> core = multiply(inverse_.core, of_core);
  add_multiple(core, 1, beside);
  std::vector<double> weights = multiply(core_inverse_, beside);
  add_multiple(weights, 1, of_core);
  std::vector<double> own = multiply(inverse_.border, weights);
  for (std::size_t i = 0; i < own.size(); ++i) own[i] += diagonal_inverse_[i] * of_part[i];
  return with_part(core, own, part);
}

double WholeInverse::square_of_part() const {
  double sum = 0;
  for (std::size_t i = 0; i < diagonal_inverse_.size(); ++i)
    sum += diagonal_inverse_[i] * (2 * inverse_.diagonal[i] - diagonal_inverse_[i]);
  const Matrix product = multiply(core_inverse_, border_square_);
  for (int j = 0; j < product.cols(); ++j) {
    for (int i = 0; i < product.rows(); ++i) sum += product(i, j) * product(j, i);
  }
  return sum;
}

}  // namespace TESSERA_NAMESPACE::gam

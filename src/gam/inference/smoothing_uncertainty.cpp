// SPDX-License-Identifier: Apache-2.0
#include "gam/inference/smoothing_uncertainty.hpp"

#include "base/at.hpp"
#include "gam/linalg/algebra.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"
#include "gam/reml/penalty_basis.hpp"

#include <tessera/error.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

namespace tessera::gam {
namespace {

using base::at;

/// A penalty times its lambda, on the coefficients of its block.
struct OwnPenalty {
  int begin = 0;
  Matrix matrix;
  std::vector<double> times_coef;  ///< of all coefficients
};

std::vector<OwnPenalty> own_penalties(const Design& design, const SmoothingFit& fit) {
  std::vector<OwnPenalty> penalties;
  for (const CoefBlock& block : design.blocks) {
    for (std::size_t j = 0; block.penalty && j < block.penalty->count(); ++j) {
      OwnPenalty own{block.coef_begin, block.penalty->matrix(j), std::vector<double>(fit.coef.size())};
      const double lambda = std::exp(fit.log_sp[penalties.size()]);
      for (double& value : own.matrix.values()) value *= lambda;
      const auto coef = fit.coef.subspan(at(block.coef_begin), at(block.coef_size));
      std::ranges::copy(multiply(own.matrix, coef), own.times_coef.begin() + block.coef_begin);
      penalties.push_back(std::move(own));
    }
  }
  return penalties;
}

}  // namespace

SmoothingUncertainty smoothing_uncertainty(const Design& design, const SmoothingFit& fit) {
  const std::vector<PenaltyParameter> parameters = design.parameters();
  int count = 0;
  for (const PenaltyParameter& parameter : parameters) count = std::max(count, parameter.index + 1);
  const auto size = static_cast<int>(fit.coef.size());
  if (count == 0) return {Matrix(size, 0), 0};

  const HostAlgebra algebra;
  const std::vector<BlockBasis> bases = penalty_bases(design);
  const std::optional<PenaltyDeterminant> determinant = penalty_determinant(bases, fit.log_sp, algebra);
  if (!determinant)
    throw Error(ErrorCode::input, "the penalties of the model have not their rank in double precision");
  const std::vector<OwnPenalty> penalties = own_penalties(design, fit);
  const std::size_t all = penalties.size();
  std::vector<std::vector<double>> slopes;  // A^-1 S_j b, A^-1 = V / phi
  for (const OwnPenalty& own : penalties) {
    slopes.push_back(multiply(fit.covariance, own.times_coef));
    for (double& value : slopes.back()) value /= fit.covariance_scale;
  }
  // S_j A^-1, the columns of penalty k.
  const auto product = [&](std::size_t j, std::size_t k) {
    const OwnPenalty& own = penalties[j];
    const OwnPenalty& other = penalties[k];
    Matrix out = multiply(own.matrix, submatrix(fit.covariance, own.begin, own.matrix.rows(), other.begin,
                                                other.matrix.rows()));
    for (double& value : out.values()) value /= fit.covariance_scale;
    return out;
  };
  const double phi = fit.scale * fit.gamma;
  const double deviance = phi * (static_cast<double>(fit.rows) / fit.gamma - design.null_space());
  Matrix hessian(count, count);
  Matrix derivatives(size, count);
  Matrix penalised(size, count);  // A J
  for (std::size_t j = 0; j < all; ++j) {
    const int row = parameters[j].index;
    if (row < 0) continue;
    add_multiple(derivatives.column(row), -1, slopes[j]);
    add_multiple(penalised.column(row), -1, penalties[j].times_coef);
    const double slope = dot(fit.coef, penalties[j].times_coef);
    for (std::size_t k = 0; k < all; ++k) {
      const int column = parameters[k].index;
      if (column < 0) continue;
      const Matrix one = product(j, k);
      const Matrix other = product(k, j);
      double trace = 0;
      for (int b = 0; b < one.cols(); ++b) {
        for (int a = 0; a < one.rows(); ++a) trace += one(a, b) * other(b, a);
      }
      double curvature = -2 * dot(penalties[j].times_coef, slopes[k]) / phi - trace -
                         determinant->hessian(static_cast<int>(j), static_cast<int>(k));
      if (j == k) {
        curvature += slope / phi;
        for (int i = 0; i < one.rows(); ++i) curvature += one(i, i);
      }
      if (!fit.scale_known) curvature -= slope / deviance * (dot(fit.coef, penalties[k].times_coef) / phi);
      hessian(row, column) += curvature / 2;
    }
  }
  const SymmetricEigen eigen = symmetric_eigen(hessian);
  // Where REML is flat the coefficients do not change: rounding is left of both.
  constexpr double least = 1e-10;
  const double largest = *std::ranges::max_element(eigen.values);
  SmoothingUncertainty out{Matrix(size, count), 0};
  for (int i = 0; i < count; ++i) {
    const double value = eigen.values[at(i)];
    if (!(value > least * largest)) continue;
    const auto own = out.root.column(i);
    std::vector<double> by_a(at(size));
    for (int j = 0; j < count; ++j) {
      add_multiple(own, eigen.vectors(j, i) / std::sqrt(value), derivatives.column(j));
      add_multiple(by_a, eigen.vectors(j, i) / std::sqrt(value), penalised.column(j));
    }
    // X'WX = A - S
    out.edf += dot(own, by_a);
    for (const OwnPenalty& penalty : penalties) {
      const auto part = own.subspan(at(penalty.begin), at(penalty.matrix.rows()));
      out.edf -= dot(part, multiply(penalty.matrix, part));
    }
  }
  out.edf /= fit.covariance_scale;
  return out;
}

}  // namespace tessera::gam

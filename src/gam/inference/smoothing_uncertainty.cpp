// SPDX-License-Identifier: Apache-2.0
#include "gam/inference/smoothing_uncertainty.hpp"

#include "base/at.hpp"
#include "base/errors.hpp"
#include "base/math/elementary.hpp"
#include "gam/linalg/algebra.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"
#include "gam/linalg/whole_inverse.hpp"
#include "gam/reml/penalty_basis.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

struct OwnPenalty {
  int begin = 0;
  int size = 0;
  Matrix matrix;     ///< for a block in the core
  double ridge = 0;  ///< for a random effect in the part: the penalty is this multiple of the identity
  std::vector<double> times_coef;  ///< lambda S b, over all coefficients b

  [[nodiscard]] std::vector<double> times(std::span<const double> x) const {
    if (!matrix.empty()) return multiply(matrix, x);
    std::vector<double> out(x.begin(), x.end());
    for (double& value : out) value *= ridge;
    return out;
  }
};

std::vector<OwnPenalty> own_penalties(const Design& design, const SmoothingFit& fit) {
  std::vector<OwnPenalty> penalties;
  for (const CoefBlock& block : design.blocks) {
    for (std::size_t j = 0; block.penalty && j < block.penalty->count(); ++j) {
      OwnPenalty own{.begin = block.coef_begin,
                     .size = block.coef_size,
                     .matrix = {},
                     .times_coef = std::vector<double>(fit.coef.size())};
      const double lambda = base::exp(fit.log_sp[penalties.size()]);
      if (fit.covariance.part().has(block.coef_begin)) {
        own.ridge = lambda * block.penalty->ridge;
      } else {
        own.matrix = block.penalty->matrix(j);
        for (double& value : own.matrix.values()) value *= lambda;
      }
      const auto coef = fit.coef.subspan(at(block.coef_begin), at(block.coef_size));
      std::ranges::copy(own.times(coef), own.times_coef.begin() + block.coef_begin);
      penalties.push_back(std::move(own));
    }
  }
  return penalties;
}

double elementwise_sum(const Matrix& a, const Matrix& b) {
  return dot(a.values(), b.values());
}

/// Traces with the covariance V and penalties S.
class CovarianceTraces {
 public:
  CovarianceTraces(const PartedMatrix& covariance, const WholeInverse& whole)
      : covariance_(covariance), whole_(whole) {}

  /// tr(S V)
  [[nodiscard]] double of(const OwnPenalty& one) const {
    if (is_of_part(one)) {
      double sum = 0;
      for (const double value : covariance_.diagonal) sum += value;
      return one.ridge * sum;
    }
    return elementwise_sum(one.matrix, core_block(covariance_.core, one, one));
  }
  /// tr(S V S' V)
  [[nodiscard]] double of(const OwnPenalty& one, const OwnPenalty& other) const {
    if (is_of_part(one) && is_of_part(other)) return one.ridge * other.ridge * whole_.square_of_part();
    if (is_of_part(one)) return of(other, one);
    if (is_of_part(other))
      return other.ridge * elementwise_sum(one.matrix, core_block(whole_.border_square(), one, one));
    const Matrix between = core_block(covariance_.core, one, other);
    return elementwise_sum(multiply(one.matrix, between), multiply(between, other.matrix));
  }

 private:
  [[nodiscard]] bool is_of_part(const OwnPenalty& one) const { return one.matrix.empty(); }
  [[nodiscard]] Matrix core_block(const Matrix& of_core, const OwnPenalty& rows,
                                  const OwnPenalty& columns) const {
    return submatrix(of_core, covariance_.in_core(rows.begin), rows.size, covariance_.in_core(columns.begin),
                     columns.size);
  }

  const PartedMatrix& covariance_;
  const WholeInverse& whole_;
};

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
    throw base::input_error(
        "the penalties of the model are singular in double precision: use fewer terms or a smaller k");
  const std::vector<OwnPenalty> penalties = own_penalties(design, fit);
  const WholeInverse whole(fit.covariance);
  const CovarianceTraces traces(fit.covariance, whole);
  const std::size_t all = penalties.size();
  std::vector<std::vector<double>> slopes;  // A^-1 S_j b, with A^-1 = V / phi
  for (const OwnPenalty& own : penalties) {
    slopes.push_back(whole.times(own.times_coef));
    for (double& value : slopes.back()) value /= fit.covariance_scale;
  }
  const double phi = fit.scale * fit.gamma;
  const double deviance = phi * (static_cast<double>(fit.rows) / fit.gamma - design.null_space());
  const double square_of_scale = fit.covariance_scale * fit.covariance_scale;
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
      double curvature = -2 * dot(penalties[j].times_coef, slopes[k]) / phi -
                         traces.of(penalties[j], penalties[k]) / square_of_scale -
                         determinant->hessian(static_cast<int>(j), static_cast<int>(k));
      if (j == k) curvature += slope / phi + traces.of(penalties[j]) / fit.covariance_scale;
      if (!fit.scale_known) curvature -= slope / deviance * (dot(fit.coef, penalties[k].times_coef) / phi);
      hessian(row, column) += curvature / 2;
    }
  }
  const SymmetricEigen eigen = symmetric_eigen(hessian);
  // In directions of flat REML, coefficients do not change: both derivatives are rounding errors.
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
    // X'WX = A - S.
    out.edf += dot(own, by_a);
    for (const OwnPenalty& penalty : penalties) {
      const auto part = own.subspan(at(penalty.begin), at(penalty.size));
      out.edf -= dot(part, penalty.times(part));
    }
  }
  out.edf /= fit.covariance_scale;
  return out;
}

}  // namespace TESSERA_NAMESPACE::gam

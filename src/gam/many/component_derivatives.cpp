// SPDX-License-Identifier: Apache-2.0
// The derivatives of `ComponentCriterion`.
//
// Subscripts j and k denote derivatives by parameters j and k. lambda S is the penalty of j, zero for tau:
//
//     b_j  = A^-1 (X' l_eta_tau, or - lambda S b)
//     A_j  = X' diag(dw/deta X b_j + dw/dtau) X + lambda S
//     b_jk = A^-1 (- A_k b_j - lambda S b_k - lambda S b if j = k; for tau twice, + d/dtau of X' l_eta_tau)
//     d2 log|A| = tr(A^-1 A_jk) - tr(A^-1 A_j A^-1 A_k); tr(A^-1 X' diag(v) X) = h'v with h = diag(X A^-1 X')
#include "base/at.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/many/component_criterion.hpp"

#include <algorithm>
#include <cmath>

namespace TESSERA_NAMESPACE::gam {

using base::at;

namespace {

double trace(const LaneSquare& square) {
  double sum = 0;
  for (int i = 0; i < square.size(); ++i) sum += square.row(i)[i];
  return sum;
}

}  // namespace

void ComponentCriterion::list_parameters(const ManyPoint& point, bool with_tau, std::vector<int>& to) const {
  to.clear();
  for (const int parameter : component_.parameters) {
    if (!std::isinf(point.log_sp[at(parameter)]) && !penalties_.is_absent(parameter)) to.push_back(parameter);
  }
  if (with_tau) to.push_back(index_of_tau);
}

void ComponentCriterion::differentiate(const ManyPoint& point, bool with_tau, ComponentDerivatives& to) {
  if (to.version == version_) return;
  to.version = version_;
  to.columns = active_.columns();
  list_parameters(point, with_tau, to.parameters);
  const std::size_t m = to.parameters.size();
  to.gradient.assign(m, 0);
  to.penalty_gradient.assign(m, 0);
  to.hessian = Matrix(static_cast<int>(m), static_cast<int>(m));
  to.penalty_hessian = to.hessian;
  to.first.resize(m);
  to.second.resize(m * (m + 1) / 2);
  if (m == 0) return;
  penalised_.resize(m);
  for (std::size_t j = 0; j < m; ++j) {
    penalised_[j].assign(b_.size(), 0);
    if (to.parameters[j] >= 0) {
      penalties_.add_product(point.log_sp, to.parameters[j], b_, penalised_[j]);
      to.first[j].clear();
      for (const double value : penalised_[j]) to.first[j].push_back(-value);
    } else {
      to.first[j] = by_tau_;
    }
    factor_.solve(to.first[j].data());
  }
  factor_.inverse(inverse_);
  sums_->weight_derivatives(likelihood(), inverse_, to.first, with_tau, weight_sums_);
  by_parameter_.resize(m);
  scaled_.resize(m);
  for (std::size_t j = 0; j < m; ++j) {
    std::vector<double>& derivative = weight_sums_.grams[j];
    if (to.parameters[j] >= 0) penalties_.add_matrix(point.log_sp, to.parameters[j], derivative);
    by_parameter_[j].set_symmetric(derivative, active_.size());
    scaled_[j] = by_parameter_[j];
    factor_.scale(scaled_[j]);
    to.gradient[j] = 0.5 * trace(scaled_[j]);
    if (to.parameters[j] < 0) continue;
    to.gradient[j] -= 0.5 * log_penalty_.gradient[penalties_.index_of(to.parameters[j])];
    to.penalty_gradient[j] = 0.5 * dot(b_, penalised_[j]);
  }
  add_second_derivatives(point, to);
}

void ComponentCriterion::add_second_derivatives(const ManyPoint& point, ComponentDerivatives& to) {
  const std::size_t m = to.parameters.size();
  std::size_t pair = 0;
  for (std::size_t j = 0; j < m; ++j) {
    const int of_j = to.parameters[j];
    for (std::size_t k = j; k < m; ++k) {
      const int of_k = to.parameters[k];
      const auto row = static_cast<int>(j);
      const auto column = static_cast<int>(k);
      std::vector<double>& second = to.second[pair++];
      second.assign(b_.size(), 0);
      double value = 0;
      if (of_j >= 0) {
        penalties_.add_product(point.log_sp, of_j, to.first[k], second);
        for (std::size_t i = 0; i < second.size(); ++i)
          second[i] = -second[i] - (j == k ? penalised_[j][i] : 0);
        to.penalty_hessian(row, column) = to.penalty_hessian(column, row) =
            dot(penalised_[j], to.first[k]) + (j == k ? to.penalty_gradient[j] : 0);
        if (of_k >= 0)
          value -= 0.5 * log_penalty_.hessian(static_cast<int>(penalties_.index_of(of_j)),
                                              static_cast<int>(penalties_.index_of(of_k)));
      } else {
        second = weight_sums_.score_by_tau_twice;
        value -= dot(by_tau_, to.first[j]);
      }
      subtract_product(by_parameter_[k], to.first[j].data(), second.data());
      factor_.solve(second.data());
      double trace_of_second =
          weight_sums_.leverage_sums(row, column) + dot(weight_sums_.leverage_slope, second);
      if (of_j >= 0 && j == k) trace_of_second += penalties_.trace(point.log_sp, of_j, inverse_);
      value += 0.5 * (trace_of_second - dot(scaled_[j], scaled_[k]));
      to.hessian(row, column) = to.hessian(column, row) = value;
    }
  }
}

}  // namespace TESSERA_NAMESPACE::gam

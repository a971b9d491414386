// SPDX-License-Identifier: Apache-2.0
// The derivatives of `LaplaceCriterion`.
//
// Indices denote derivatives by a parameter. lambda S are the penalties of that parameter, and zero if it is
// not a smoothing parameter:
//
//     b_j  = A^-1 (X' l_eta_tau, or - lambda S b)
//     A_j  = X' diag(dw/deta X b_j + dw/dtau) X + lambda S
//     b_jk = A^-1 (- A_k b_j - lambda S b_k - lambda S b if j = k; for tau twice, + d/dtau of X' l_eta_tau)
//     d2 log|A| = tr(A^-1 A_jk) - tr(A^-1 A_j A^-1 A_k), where tr(A^-1 X' diag(v) X) is the sum of h v
#include "base/at.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/many/laplace_criterion.hpp"

#include <array>
#include <cmath>
#include <utility>

namespace TESSERA_NAMESPACE::gam {

using base::at;
using base::lane_count;

namespace {

double trace(const std::vector<double>& square, int n) {
  double sum = 0;
  for (std::size_t i = 0; i < at(n); ++i) sum += square[i * at(n) + i];
  return sum;
}

}  // namespace

void LaplaceCriterion::differentiate(const ManyPoint& point, ManyDerivatives& to) {
  list_parameters(point, to.parameters);
  const std::size_t m = to.parameters.size();
  const int n = active_.size();
  const std::vector<double> b = active_.gathered(point.b);
  const bool nb = family_at(point) == ManyFamily::nb;
  // First derivatives of the coefficients.
  std::vector<std::vector<double>> penalised(m, std::vector<double>(b.size()));
  to.first.assign(m, {});
  for (std::size_t j = 0; j < m; ++j) {
    std::vector<double>& first = to.first[j];
    if (to.parameters[j] >= 0) {
      penalties_.add_product(point.log_sp, to.parameters[j], b, penalised[j]);
      for (const double value : penalised[j]) first.push_back(-value);
    } else if (nb) {
      first = by_tau_;
    } else {
      first.assign(b.size(), 0);
      continue;
    }
    factor_.solve(first.data());
  }
  factor_.inverse(inverse_);
  const bool with_tau = nb && !to.parameters.empty() && to.parameters.back() == index_of_tau;
  sums_->weight_derivatives(at_point(point), inverse_, to.first, with_tau, weight_sums_);
  // Second derivatives of the coefficients, and the criterion's.
  to.second.clear();
  to.gradient.assign(m, 0);
  to.hessian = Matrix(static_cast<int>(m), static_cast<int>(m));
  std::vector<std::vector<double>> by_parameter(m);  // dA / dparameter, packed
  std::vector<std::vector<double>> scaled(m);        // L^-1 dA L^-T
  for (std::size_t j = 0; j < m; ++j) {
    by_parameter[j] = weight_sums_.grams[j];
    if (to.parameters[j] >= 0) penalties_.add_matrix(point.log_sp, to.parameters[j], by_parameter[j]);
    scaled[j] = between_factors(by_parameter[j]);
  }
  const double phi = phi_at(point);
  for (std::size_t j = 0; j < m; ++j) {
    const int of_j = to.parameters[j];
    if (of_j >= 0) to.gradient[j] = 0.5 * dot(b, penalised[j]) / phi - 0.5 * log_penalty_.gradient[at(of_j)];
    to.gradient[j] += 0.5 * trace(scaled[j], n);
    for (std::size_t k = j; k < m; ++k) {
      const int of_k = to.parameters[k];
      std::vector<double> second = packed_product(by_parameter[k], to.first[j]);
      for (double& each : second) each = -each;
      double value = 0;
      if (of_j >= 0) {
        std::vector<double> more(b.size());
        penalties_.add_product(point.log_sp, of_j, to.first[k], more);
        for (std::size_t i = 0; i < second.size(); ++i) second[i] -= more[i] + (j == k ? penalised[j][i] : 0);
        value = (dot(penalised[j], to.first[k]) + (j == k ? 0.5 * dot(b, penalised[j]) : 0)) / phi;
        if (of_k >= 0) value -= 0.5 * log_penalty_.hessian(of_j, of_k);
      } else if (nb) {
        for (std::size_t i = 0; i < second.size(); ++i) second[i] += weight_sums_.score_by_tau_twice[i];
      }
      factor_.solve(second.data());
      double trace_of_second = weight_sums_.leverage_sums(static_cast<int>(j), static_cast<int>(k)) +
                               dot(weight_sums_.leverage_slope, second);
      if (of_j >= 0 && j == k) trace_of_second += trace_with_inverse(point, of_j);
      value += 0.5 * (trace_of_second - dot(scaled[j], scaled[k]));
      to.hessian(static_cast<int>(j), static_cast<int>(k)) = value;
      to.hessian(static_cast<int>(k), static_cast<int>(j)) = value;
      to.second.push_back(std::move(second));
    }
  }
  if (!to.parameters.empty() && to.parameters.back() < 0) add_tau(point, b, penalised, to);
}

/// The terms of the derivatives by tau that are not traces.
void LaplaceCriterion::add_tau(const ManyPoint& point, const std::vector<double>& b,
                               const std::vector<std::vector<double>>& penalised, ManyDerivatives& to) const {
  const auto last = static_cast<int>(to.parameters.size()) - 1;
  if (family_at(point) == ManyFamily::nb) {
    to.gradient[at(last)] += loss_by_tau_;
    to.hessian(last, last) += loss_by_tau_twice_ - dot(by_tau_, to.first[at(last)]);
    return;
  }
  const double phi = phi_at(point);
  const ScaleLikelihood::Value likelihood = scale_likelihood_.at(phi);
  to.gradient[at(last)] = -penalised_deviance_ / (2 * phi) - likelihood.slope - 0.5 * design_.null_space;
  to.hessian(last, last) = penalised_deviance_ / (2 * phi) - likelihood.curvature;
  for (int j = 0; j < last; ++j) {
    const double value = -0.5 * dot(b, penalised[at(j)]) / phi;
    to.hessian(j, last) = value;
    to.hessian(last, j) = value;
  }
}

void LaplaceCriterion::list_parameters(const ManyPoint& point, std::vector<int>& to) const {
  to.clear();
  for (int j = 0; j < design_.parameters; ++j) {
    if (!std::isinf(point.log_sp[at(j)]) && !penalties_.is_absent(j)) to.push_back(j);
  }
  if (has_tau() && !point.poisson) to.push_back(index_of_tau);
}
/// L^-1 a L^-T of a packed matrix, square by rows.
std::vector<double> LaplaceCriterion::between_factors(const std::vector<double>& packed) const {
  const int n = active_.size();
  std::vector<double> square(at(n) * at(n));
  std::size_t i = 0;
  for (std::size_t a = 0; a < at(n); ++a) {
    for (std::size_t b = a; b < at(n); ++b) square[a * at(n) + b] = square[b * at(n) + a] = packed[i++];
  }
  for (std::size_t row = 0; row < at(n); ++row) factor_.solve_lower(square.data() + row * at(n));
  for (std::size_t a = 0; a < at(n); ++a) {
    for (std::size_t b = a + 1; b < at(n); ++b) std::swap(square[a * at(n) + b], square[b * at(n) + a]);
  }
  for (std::size_t row = 0; row < at(n); ++row) factor_.solve_lower(square.data() + row * at(n));
  return square;
}

/// tr(A^-1 lambda S) of a parameter.
double LaplaceCriterion::trace_with_inverse(const ManyPoint& point, int parameter) const {
  std::vector<double> packed(at(packed_size(active_.size())));
  penalties_.add_matrix(point.log_sp, parameter, packed);
  double sum = 0;
  std::size_t i = 0;
  for (int a = 0; a < active_.size(); ++a) {
    for (int b = a; b < active_.size(); ++b, ++i) sum += (a == b ? 1 : 2) * packed[i] * inverse_[i];
  }
  return sum;
}
}  // namespace TESSERA_NAMESPACE::gam

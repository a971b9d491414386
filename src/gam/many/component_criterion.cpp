// SPDX-License-Identifier: Apache-2.0
#include "gam/many/component_criterion.hpp"

#include "base/at.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/many/packed_matrix.hpp"

#include <cmath>
#include <limits>

namespace TESSERA_NAMESPACE::gam {

using base::at;

ComponentCriterion::ComponentCriterion(const SharedDesign& design, const DesignComponent& component)
    : component_(component), active_(design, component), penalties_(design, component, active_) {}

void ComponentCriterion::set_response(LikelihoodSums& sums) {
  sums_ = &sums;
  log_sp_.clear();
  has_sums_ = false;
  is_settled_ = false;
}

void ComponentCriterion::set_point(ManyFamily family, double theta, const std::vector<bool>& absent,
                                   const ManyPoint& point) {
  bool same_columns = log_sp_.size() == component_.parameters.size() && version_ > 0;
  std::size_t i = 0;
  for (const int parameter : component_.parameters) {
    if (!same_columns) break;
    same_columns = std::isinf(point.log_sp[at(parameter)]) == std::isinf(log_sp_[i++]);
  }
  if (!same_columns || !has_sums_) active_.set(absent, point.log_sp);
  if (!same_columns || family != family_ || theta != theta_) has_sums_ = false;
  family_ = family;
  theta_ = theta;
  log_sp_.clear();
  for (const int parameter : component_.parameters) log_sp_.push_back(point.log_sp[at(parameter)]);
}

void ComponentCriterion::sum_rows(const std::vector<double>& b) {
  if (has_sums_ && b == b_) return;
  b_ = b;
  sums_->score_and_gram(likelihood(), b_, score_, gram_);
  has_sums_ = true;
  has_loss_ = false;
}

void ComponentCriterion::add_information(ManyFamily family, double theta, const std::vector<bool>& absent,
                                         const ManyPoint& point, std::vector<double>& to) {
  set_point(family, theta, absent, point);
  is_settled_ = false;
  active_.gather(point.b, next_);
  sum_rows(next_);
  for (int j = 0; j < active_.size(); ++j)
    to[at(active_.columns()[at(j)])] += gram_[place_in_packed(active_.size(), j, j)];
}

bool ComponentCriterion::is_settled(ManyFamily family, double theta, const ManyPoint& point,
                                    double tolerance) const {
  if (!is_settled_ || family != family_ || theta != theta_ || !(decrement_ < tolerance)) return false;
  for (std::size_t j = 0; j < log_sp_.size(); ++j) {
    if (point.log_sp[at(component_.parameters[j])] != log_sp_[j]) return false;
  }
  for (int column = component_.begin; column < component_.end; ++column) {
    const int place = active_.place(column);
    if (point.b[at(column)] != (place < 0 ? 0 : b_[at(place)])) return false;
  }
  return true;
}

bool ComponentCriterion::settle(ManyFamily family, double theta, const std::vector<bool>& absent,
                                ManyPoint& point, double tolerance) {
  if (is_settled(family, theta, point, tolerance)) return true;
  set_point(family, theta, absent, point);
  is_settled_ = false;
  ++version_;
  active_.gather(point.b, next_);
  if (!find_coefficients(point, tolerance)) return false;
  active_.scatter(b_, point.b);
  if (!has_loss_) loss_ = sums_->loss(likelihood(), by_tau_);
  has_loss_ = true;
  roughness_ = dot(b_, product_);
  penalties_.log_determinant(point.log_sp, log_penalty_);
  is_settled_ = true;
  return true;
}

bool ComponentCriterion::find_coefficients(const ManyPoint& point, double tolerance) {
  const int n = active_.size();
  sum_penalties(point);
  if (const auto found = sums_->settle(likelihood(), penalty_, tolerance, next_, score_, gram_, by_tau_)) {
    b_ = next_;
    loss_ = found->loss;
    decrement_ = found->decrement;
    has_sums_ = has_loss_ = true;
    multiply_penalty();
    return found->is_settled && factor();
  }
  auto search = CoefficientSearch::begin();
  auto state = CoefficientSearch::State::searching;
  while (state == CoefficientSearch::State::searching) {
    sum_rows(next_);
    multiply_penalty();
    gradient_ = score_;
    for (std::size_t j = 0; j < gradient_.size(); ++j) gradient_[j] -= product_[j];
    from_.resize(b_.size());
    step_.resize(b_.size());
    state = search.advance(n, tolerance, gradient_.data(), next_.data(), from_.data(), step_.data(),
                           [&](double* x) {
                             if (!factor()) return false;
                             factor_.solve(x);
                             return true;
                           });
  }
  decrement_ = search.decrement;
  return state == CoefficientSearch::State::settled;
}

void ComponentCriterion::sum_penalties(const ManyPoint& point) {
  penalty_.assign(at(packed_size(active_.size())), 0);
  penalties_.add_matrix(point.log_sp, PenaltySums::all, penalty_);
}

void ComponentCriterion::multiply_penalty() {
  product_.assign(b_.size(), 0);
  add_packed_product(active_.size(), penalty_.data(), b_.data(), product_.data());
}

bool ComponentCriterion::factor() {
  hessian_ = gram_;
  for (std::size_t i = 0; i < hessian_.size(); ++i) hessian_[i] += penalty_[i];
  return factor_.factor(hessian_, active_.size());
}

void ComponentCriterion::add_changes(const ManyPoint& point, const std::vector<bool>& absent, int parameter,
                                     std::span<const double> log_sp, std::vector<double>& gains,
                                     std::vector<double>& costs) {
  const double determinants = log_determinants();
  const double roughness = roughness_;
  is_settled_ = false;
  ManyPoint other = point;
  for (std::size_t i = 0; i < log_sp.size(); ++i) {
    other.log_sp[at(parameter)] = log_sp[i];
    set_point(family_, theta_, absent, other);
    active_.gather(other.b, next_);
    sum_rows(next_);
    sum_penalties(other);
    multiply_penalty();
    gradient_ = score_;
    for (std::size_t j = 0; j < gradient_.size(); ++j) gradient_[j] -= product_[j];
    penalties_.log_determinant(other.log_sp, log_penalty_);
    step_ = gradient_;
    if (!factor()) {
      gains[i] = std::numeric_limits<double>::infinity();
      continue;
    }
    factor_.solve(step_.data());
    gains[i] += 0.5 * (dot(gradient_, step_) - dot(b_, product_) + roughness);
    costs[i] += 0.5 * (log_determinants() - determinants);
  }
}

bool ComponentCriterion::add_covariance(const ManyPoint& point, PearsonSums& pearson, double& edf,
                                        ResponseFit& out) {
  is_settled_ = false;
  has_sums_ = false;
  pearson = sums_->expected_gram(likelihood(), gram_);
  sum_penalties(point);
  if (!factor()) return false;
  factor_.inverse(inverse_);
  active_.scatter_matrix(gram_, out.gram);
  active_.scatter_matrix(inverse_, out.inverse);
  std::size_t i = 0;
  for (int a = 0; a < active_.size(); ++a) {
    for (int b = a; b < active_.size(); ++b, ++i) edf += (a == b ? 1 : 2) * gram_[i] * inverse_[i];
  }
  return true;
}

}  // namespace TESSERA_NAMESPACE::gam

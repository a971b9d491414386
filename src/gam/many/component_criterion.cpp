// SPDX-License-Identifier: Apache-2.0
#include "gam/many/component_criterion.hpp"

#include "base/at.hpp"
#include "gam/linalg/linalg.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace TESSERA_NAMESPACE::gam {

using base::at;

namespace {

constexpr int most_newton_steps = 100;

}  // namespace

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

/// A step is halved depending on the slope at its end: the log likelihood is concave here, so that its value
/// is not needed.
bool ComponentCriterion::find_coefficients(const ManyPoint& point, double tolerance) {
  double slope = 0;
  double length = 1;
  bool stepped = false;
  for (int i = 0; i < most_newton_steps; ++i) {
    sum_rows(next_);
    product_.assign(b_.size(), 0);
    penalties_.add_product(point.log_sp, PenaltySums::all, b_, product_);
    gradient_ = score_;
    for (std::size_t j = 0; j < gradient_.size(); ++j) gradient_[j] -= product_[j];
    if (stepped) {
      const double end_slope = dot(gradient_, step_);
      constexpr double least_slope = 1e-10;
      if (!(end_slope >= -0.5 * slope) && slope > least_slope) {
        length /= 2;
        constexpr double least_length = 1e-6;
        if (length < least_length) return false;
        for (std::size_t j = 0; j < next_.size(); ++j) next_[j] = from_[j] + length * step_[j];
        continue;
      }
    }
    hessian_ = gram_;
    penalties_.add_matrix(point.log_sp, PenaltySums::all, hessian_);
    if (!factor_.factor(hessian_, active_.size())) return false;
    step_ = gradient_;
    factor_.solve(step_.data());
    slope = dot(gradient_, step_);
    // Coefficients far above their standard errors, as of responses far from zero, have no more digits.
    constexpr double rounding = 4 * std::numeric_limits<double>::epsilon();
    const bool is_rounding = largest(step_) <= rounding * largest(b_);
    if (slope < tolerance || is_rounding) {
      decrement_ = is_rounding ? 0 : slope;
      return true;
    }
    // Distant coefficients, e.g. of a curve that falls steeply after the last count, are reached by doubling.
    constexpr double least_longest = 8;
    const double longest = std::max(least_longest, 2 * largest(b_));
    const double size = largest(step_);
    if (size > longest) {
      for (double& value : step_) value *= longest / size;
      slope *= longest / size;
    }
    from_ = b_;
    length = 1;
    for (std::size_t j = 0; j < next_.size(); ++j) next_[j] = from_[j] + step_[j];
    stepped = true;
  }
  return false;
}

bool ComponentCriterion::add_covariance(const ManyPoint& point, PearsonSums& pearson, double& edf,
                                        ResponseFit& out) {
  is_settled_ = false;
  has_sums_ = false;
  pearson = sums_->expected_gram(likelihood(), gram_);
  hessian_ = gram_;
  penalties_.add_matrix(point.log_sp, PenaltySums::all, hessian_);
  if (!factor_.factor(hessian_, active_.size())) return false;
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

// SPDX-License-Identifier: Apache-2.0
#include "gam/many/laplace_criterion.hpp"

#include "base/at.hpp"
#include "base/errors.hpp"
#include "gam/linalg/linalg.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>

namespace TESSERA_NAMESPACE::gam {

using base::at;
using base::lane_count;

namespace {

constexpr int most_newton_steps = 100;

}  // namespace

LaplaceCriterion::LaplaceCriterion(const SharedDesign& design, const ManyEstimator& estimator,
                                   std::unique_ptr<LikelihoodSums> sums)
    : design_(design),
      estimator_(estimator),
      sums_(std::move(sums)),
      y_(design.slots()),
      active_(design),
      penalties_(design, active_) {}

ManyStatus LaplaceCriterion::set_response(std::span<const double> values, const RowAdjustments& own,
                                          ResponseFit& out) {
  std::ranges::fill(y_, 0.0);
  weight_ = design_.weight;
  offset_ = design_.offset;
  tail_.clear();
  sum_ = 0;
  double least = infinite;
  double most = -infinite;
  int zeros = 0;
  double plain_sum = 0;
  for (std::size_t row = 0; row < values.size(); ++row) {
    const int slot = design_.slot_of_row[row];
    if (slot < 0) continue;
    const double y = values[row];
    double& weight = weight_[at(slot)];
    if (std::isnan(y)) {
      weight = 0;
    } else if (!own.weights.empty()) {
      if (!(own.weights[row] >= 0 && std::isfinite(own.weights[row])))
        throw base::input_error("row {}: the weight {} is not a number of at least 0", row + 1,
                                own.weights[row]);
      weight *= own.weights[row];
    }
    if (weight == 0) continue;
    if (const char* const fault = fault_of(y))
      throw base::input_error("row {}: the value {} {}", row + 1, y, fault);
    if (!own.offsets.empty()) {
      if (!std::isfinite(own.offsets[row]))
        throw base::input_error("row {}: the offset {} is not a finite number", row + 1, own.offsets[row]);
      offset_[at(slot)] += own.offsets[row];
    }
    y_[at(slot)] = y;
    ++out.rows;
    least = std::min(least, y);
    most = std::max(most, y);
    zeros += y == 0 ? 1 : 0;
    plain_sum += y;
    sum_ += weight * y;
    if (estimator_.family == ManyFamily::nb) tail_.add(y, weight);
  }
  tail_.finish();
  out.mean = plain_sum / out.rows;
  out.zeros = static_cast<double>(zeros) / out.rows;
  const ManyStatus status = out.rows < estimator_.least_rows ? ManyStatus::too_few
                            : has_counts() && most == 0      ? ManyStatus::all_zero
                            : least == most && !has_counts() ? ManyStatus::constant
                                                             : ManyStatus::converged;
  if (status != ManyStatus::converged) return status;
  constants_ = constants_of(estimator_.family, y_, weight_);
  if (has_scale()) {
    saturated_ = saturated_loss(estimator_.family, 1, y_, weight_);
    scale_likelihood_ = ScaleLikelihood(estimator_.family, weight_);
    moments_.reset();
    if (estimator_.family == ManyFamily::gaussian && weight_ == design_.weight)
      moments_.emplace(design_, y_, offset_);
  }
  sums_->set_response(y_, weight_, offset_);
  leave_out_absent(out);
  return std::ranges::find(absent_, false) == absent_.end() ? ManyStatus::all_zero : status;
}

const char* LaplaceCriterion::fault_of(double y) const {
  switch (estimator_.family) {
    case ManyFamily::nb:
    case ManyFamily::poisson:
      return y >= 0 && y == std::floor(y) && std::isfinite(y)
                 ? nullptr
                 : "is not a count: a whole number of at least 0";
    case ManyFamily::binomial: return y >= 0 && y <= 1 ? nullptr : "is not between 0 and 1";
    case ManyFamily::gamma: return y > 0 && std::isfinite(y) ? nullptr : "is not above 0";
    case ManyFamily::gaussian: return std::isfinite(y) ? nullptr : "is not finite";
  }
  return nullptr;
}

/// A group of counts with an unpenalised curve of its own may have no finite estimate: if all its counts are
/// zero, or those above zero are where an unpenalised function is zero that is negative in all other rows.
/// The curve is then at minus infinity, and the model is that of the other groups.
void LaplaceCriterion::leave_out_absent(ResponseFit& out) {
  absent_.assign(design_.groups.size(), false);
  if (!has_counts() && estimator_.family != ManyFamily::binomial) return;
  for (std::size_t g = 0; g < design_.groups.size(); ++g) {
    if (design_.groups[g].own_curve.empty()) continue;
    absent_[g] = has_no_curve(design_.groups[g]);
    if (absent_[g]) out.absent.push_back(static_cast<int>(g));
  }
}

bool LaplaceCriterion::has_no_curve(const RowGroup& group) const {
  const auto first = static_cast<std::size_t>(group.begin) * lane_count;
  const auto last = static_cast<std::size_t>(group.end) * lane_count;
  const auto counts = [&](std::size_t slot) { return weight_[slot] != 0 && y_[slot] > 0; };
  std::size_t one = first;
  while (one < last && !counts(one)) ++one;
  if (one == last) return true;
  if (group.own_line.size() != 2) return false;
  // The value of one of the two columns in a slot of the group.
  const auto value = [&](std::size_t slot, int column) {
    const std::size_t packet = (slot - first) / lane_count;
    return group
        .x[(packet * group.columns.size() + at(group.own_line[at(column)])) * lane_count + slot % lane_count];
  };
  const double a = value(one, 0);
  const double b = value(one, 1);
  constexpr double rounding = 1e-12;
  bool above = false;
  bool below = false;
  for (std::size_t slot = first; slot < last; ++slot) {
    if (weight_[slot] == 0) continue;
    // Zero at the values of the first count's row.
    const double line = b * value(slot, 0) - a * value(slot, 1);
    if (counts(slot) && std::abs(line) > rounding) return false;
    above = above || line > rounding;
    below = below || line < -rounding;
  }
  return above != below;
}

ManyPoint LaplaceCriterion::start() {
  ManyPoint point;
  point.log_sp.assign(at(design_.parameters), 0);
  point.b.assign(at(design_.columns), 0);
  active_.set(absent_, point.log_sp);
  double offsets = 0;
  for (std::size_t i = 0; i < y_.size(); ++i)
    offsets += weight_[i] * (has_log_link() ? std::exp(offset_[i]) : offset_[i]);
  double level = 0;
  if (has_log_link())
    level = std::log(sum_ / offsets);
  else if (estimator_.family == ManyFamily::binomial)
    level = std::log((sum_ + 0.5) / (constants_.weight - sum_ + 0.5)) - offsets / constants_.weight;
  else
    level = (sum_ - offsets) / constants_.weight;
  start_level_ = level;
  for (std::size_t j = 0; j < point.b.size(); ++j) point.b[j] = level * design_.constant[j];
  if (estimator_.family == ManyFamily::nb)
    point.tau = std::log(estimator_.theta ? *estimator_.theta : theta_by_moments(level));
  // Each lambda makes its penalty as large as X'WX on the coefficients that it penalises.
  std::vector<double> score;
  std::vector<double> gram;
  sum_first_derivatives(point, active_.gathered(point.b), score, gram);
  std::vector<double> information(at(design_.parameters));
  std::vector<double> penalty(at(design_.parameters));
  for (const SharedPenalty& one : design_.penalties) {
    if (one.parameter < 0) continue;
    for (int j = 0; j < one.size(); ++j) {
      const int column = active_.place(one.begin + j);
      if (column < 0) continue;
      information[at(one.parameter)] += gram[place_in_packed(active_.size(), column, column)];
      penalty[at(one.parameter)] +=
          std::exp(one.offset) * (one.diagonal.empty() ? one.dense(j, j) : one.diagonal[at(j)]);
    }
  }
  for (std::size_t j = 0; j < information.size(); ++j) {
    constexpr double least = 1e-8;
    point.log_sp[j] = penalty[j] > 0 ? std::log(std::max(information[j], least) / penalty[j]) : 0;
  }
  if (has_scale()) {
    double square = 0;
    const double mean = sum_ / constants_.weight;
    for (std::size_t i = 0; i < y_.size(); ++i) square += weight_[i] * (y_[i] - mean) * (y_[i] - mean);
    point.tau = std::log(square / constants_.weight / (has_log_link() ? mean * mean : 1));
  }
  return point;
}

/// The theta for which counts of means e^(level + offset) have the observed variance.
double LaplaceCriterion::theta_by_moments(double level) const {
  double excess = 0;
  double squares = 0;
  for (std::size_t i = 0; i < y_.size(); ++i) {
    const double mean = std::exp(level + offset_[i]);
    excess += weight_[i] * ((y_[i] - mean) * (y_[i] - mean) - mean);
    squares += weight_[i] * mean * mean;
  }
  constexpr double least = 0.02;
  constexpr double most = 1e3;
  return excess > 0 ? std::clamp(squares / excess, least, most) : most;
}

std::vector<double> LaplaceCriterion::design_gram() const {
  const std::vector<int>& columns = active_.columns();
  std::vector<double> gram;
  gram.reserve(at(packed_size(active_.size())));
  for (std::size_t a = 0; a < columns.size(); ++a) {
    for (std::size_t b = a; b < columns.size(); ++b)
      gram.push_back(design_.gram[place_in_packed(design_.columns, columns[a], columns[b])]);
  }
  return gram;
}

void LaplaceCriterion::sum_first_derivatives(const ManyPoint& point, const std::vector<double>& b,
                                             std::vector<double>& score, std::vector<double>& gram) {
  if (moments_) {
    std::vector<double> all(at(design_.columns));
    active_.scatter(b, all);
    score = active_.gathered(moments_->score(all));
    gram = design_gram();
    return;
  }
  sums_->score_and_gram(at_point(point), b, score, gram);
}

bool LaplaceCriterion::settle(ManyPoint& point, double tolerance) {
  active_.set(absent_, point.log_sp);
  if (!find_coefficients(point, tolerance)) return false;
  evaluate(point);
  return std::isfinite(point.value);
}

/// The slope at the end of a step decides whether it is halved: the log likelihood is concave here, and is
/// not evaluated.
bool LaplaceCriterion::find_coefficients(ManyPoint& point, double tolerance) {
  std::vector<double> b = active_.gathered(point.b);
  std::vector<double> from = b;
  std::vector<double> step(b.size());
  std::vector<double> penalised(b.size());
  double slope = 0;
  double length = 1;
  bool stepped = false;
  for (int i = 0; i < most_newton_steps; ++i) {
    sum_first_derivatives(point, b, score_, hessian_);
    penalised.assign(b.size(), 0);
    penalties_.add_product(point.log_sp, PenaltySums::all, b, penalised);
    for (std::size_t j = 0; j < b.size(); ++j) score_[j] -= penalised[j];
    if (stepped) {
      const double end_slope = dot(score_, step);
      constexpr double least_slope = 1e-10;
      if (!(end_slope >= -0.5 * slope) && slope > least_slope) {
        length /= 2;
        constexpr double least_length = 1e-6;
        if (length < least_length) return false;
        for (std::size_t j = 0; j < b.size(); ++j) b[j] = from[j] + length * step[j];
        continue;
      }
    }
    penalties_.add_matrix(point.log_sp, PenaltySums::all, hessian_);
    if (!factor_.factor(hessian_, active_.size())) return false;
    step = score_;
    factor_.solve(step.data());
    slope = dot(score_, step);
    if (slope < tolerance) {
      active_.scatter(b, point.b);
      return true;
    }
    // Far coefficients, as of a curve that falls steeply after the last count, are reached by doubling.
    constexpr double least_longest = 8;
    const double longest = std::max(least_longest, 2 * largest(b));
    const double size = largest(step);
    if (size > longest) {
      for (double& value : step) value *= longest / size;
      slope *= longest / size;
    }
    from = b;
    length = 1;
    for (std::size_t j = 0; j < b.size(); ++j) b[j] += step[j];
    stepped = true;
  }
  return false;
}

void LaplaceCriterion::sum_losses(const ManyPoint& point) {
  by_tau_.assign(at(active_.size()), 0);
  if (moments_) {
    loss_ = 0.5 * moments_->residual_sum_of_squares(point.b);
    return;
  }
  const LossDerivatives sums = sums_->loss(at_point(point), by_tau_);
  loss_ = sums.value;
  loss_by_tau_ = sums.by_tau;
  loss_by_tau_twice_ = sums.by_tau_twice;
  if (family_at(point) == ManyFamily::nb) {
    const CountTail::Value tail = tail_.at(theta_at(point));
    loss_ -= tail.sum;
    loss_by_tau_ -= tail.slope;
    loss_by_tau_twice_ -= tail.curvature;
  }
}

/// For a family with a scale phi, D the deviance, l_s the saturated log likelihood and M the dimension of the
/// unpenalised space, V = (D + b'Sb) / (2 phi) - l_s(phi) + log|A| / 2 - log|S|+ / 2 - M log(2 pi phi) / 2.
void LaplaceCriterion::evaluate(ManyPoint& point) {
  sum_losses(point);
  const std::vector<double> b = active_.gathered(point.b);
  std::vector<double> penalised(b.size());
  penalties_.add_product(point.log_sp, PenaltySums::all, b, penalised);
  log_penalty_ = penalties_.log_determinant(point.log_sp);
  const double roughness = dot(b, penalised);
  point.value = 0.5 * (factor_.log_determinant() - log_penalty_.value);
  if (!has_scale()) {
    point.value += loss_ + 0.5 * roughness;
    return;
  }
  const double phi = phi_at(point);
  penalised_deviance_ = 2 * (loss_ - saturated_) + roughness;
  point.value += penalised_deviance_ / (2 * phi) - scale_likelihood_.at(phi).value -
                 0.5 * design_.null_space * std::log(2 * M_PI * phi);
}

void LaplaceCriterion::describe(const ManyPoint& point, ResponseFit& out) {
  const double saturated = saturated_loss(family_at(point), theta_at(point), y_, weight_);
  const double loss = loss_ + (family_at(point) == ManyFamily::nb ? tail_.at(theta_at(point)).sum : 0);
  out.deviance = 2 * (loss - saturated);
  out.null_deviance = 2 * (sums_->null_loss(at_point(point), start_level_) - saturated);
  out.criterion = point.value - constants_.log_likelihood;
  out.log_likelihood = log_likelihood_of(estimator_.family, constants_, loss_, out.deviance, phi_at(point));
}

bool LaplaceCriterion::add_covariance(const ManyPoint& point, ResponseFit& out) {
  double pearson = 2 * loss_;  // of gaussian
  if (moments_) {
    hessian_ = design_gram();
  } else {
    pearson = sums_->expected_gram(at_point(point), hessian_);
  }
  const std::vector<double> gram = hessian_;
  penalties_.add_matrix(point.log_sp, PenaltySums::all, hessian_);
  if (!factor_.factor(hessian_, active_.size())) return false;
  factor_.inverse(inverse_);
  out.gram = active_.scattered_matrix(gram);
  out.inverse = active_.scattered_matrix(inverse_);
  out.coef_of_tests = point.b;
  if (!has_scale()) return true;
  double edf = 0;
  for (int a = 0, i = 0; a < active_.size(); ++a) {
    for (int b = a; b < active_.size(); ++b, ++i) edf += (a == b ? 1 : 2) * gram[at(i)] * inverse_[at(i)];
  }
  out.scale = pearson / (out.rows - edf);
  return true;
}

}  // namespace TESSERA_NAMESPACE::gam

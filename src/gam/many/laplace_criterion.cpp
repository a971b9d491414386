// SPDX-License-Identifier: Apache-2.0
#include "gam/many/laplace_criterion.hpp"

#include "base/at.hpp"
#include "base/errors.hpp"
#include "base/math/elementary.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/many/gaussian_moments.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

namespace TESSERA_NAMESPACE::gam {

using base::at;
using base::lane_count;

namespace {

bool is_small_count(double y) {
  constexpr double most = 1e15;
  return y >= 0 && y <= most && static_cast<double>(static_cast<std::int64_t>(y)) == y;
}

}  // namespace

LaplaceCriterion::LaplaceCriterion(const SharedDesign& design, const ManyEstimator& estimator,
                                   std::unique_ptr<LikelihoodSums> sums)
    : design_(design), estimator_(estimator), row_sums_(std::move(sums)), y_(design.slots()) {
  if (estimator.family == ManyFamily::gaussian) moments_ = std::make_unique<GaussianMoments>(design);
  for (const DesignComponent& component : design.components)
    components_.push_back(std::make_unique<ComponentCriterion>(design, component));
}

ManyStatus LaplaceCriterion::set_response(std::span<const double> values, const RowAdjustments& own,
                                          ResponseFit& out) {
  weights_ = design_.weight;
  offsets_ = design_.offset;
  counts_.clear();
  sum_ = 0;
  double least = infinite;
  double most = -infinite;
  int zeros = 0;
  double plain_sum = 0;
  const bool with_counts = has_counts();
  for (std::size_t row = 0; row < values.size(); ++row) {
    const int slot = design_.slot_of_row[row];
    if (slot < 0) continue;
    const double y = values[row];
    double weight = weights_[at(slot)];
    y_[at(slot)] = 0;
    if (std::isnan(y)) {
      weight = set_weight(slot, 0);
    } else if (!own.weights.empty()) {
      if (!(own.weights[row] >= 0 && std::isfinite(own.weights[row])))
        throw base::input_error("row {}: the weight {} is not a number of at least 0", row + 1,
                                own.weights[row]);
      weight = set_weight(slot, weight * own.weights[row]);
    }
    if (weight == 0) continue;
    if (!(with_counts && is_small_count(y))) {
      if (const char* const fault = fault_of(y))
        throw base::input_error("row {}: the value {} {}", row + 1, y, fault);
    }
    if (!own.offsets.empty()) {
      if (!std::isfinite(own.offsets[row]))
        throw base::input_error("row {}: the offset {} is not a finite number", row + 1, own.offsets[row]);
      if (offsets_.data() != own_offsets_.data()) offsets_ = own_offsets_ = design_.offset;
      own_offsets_[at(slot)] += own.offsets[row];
    }
    y_[at(slot)] = y;
    ++out.rows;
    least = std::min(least, y);
    most = std::max(most, y);
    zeros += y == 0 ? 1 : 0;
    plain_sum += y;
    sum_ += weight * y;
    if (with_counts && y > 0) counts_.add(y, weight);
  }
  counts_.finish();
  out.mean = plain_sum / out.rows;
  out.zeros = static_cast<double>(zeros) / out.rows;
  const ManyStatus status = out.rows < estimator_.least_rows ? ManyStatus::too_few
                            : has_counts() && most == 0      ? ManyStatus::all_zero
                            : least == most && !has_counts() ? ManyStatus::constant
                                                             : ManyStatus::converged;
  if (status != ManyStatus::converged) return status;
  leave_out_absent(out);
  null_space_ = design_.null_space;
  if (estimator_.quasi) leave_out_rows_of_absent(out);
  const bool has_design_weights = moments_ && std::ranges::equal(weights_, design_.weight);
  // Gaussian constants depend only on the weights.
  if (!has_design_weights || sums_ != moments_.get()) {
    constants_ = constants_of(estimator_.family, y_, weights_);
    scale_likelihood_ =
        ScaleLikelihood(estimator_.quasi ? ManyFamily::gaussian : estimator_.family, weights_);
  }
  sums_ = has_design_weights ? moments_.get() : row_sums_.get();
  sums_->set_response(y_, weights_, offsets_);
  for (const auto& component : components_) component->set_response(*sums_);
  return std::ranges::find(absent_, false) == absent_.end() ? ManyStatus::all_zero : status;
}

double LaplaceCriterion::set_weight(int slot, double weight) {
  if (weights_.data() != own_weights_.data()) weights_ = own_weights_ = design_.weight;
  return own_weights_[at(slot)] = weight;
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

/// Marks groups whose own unpenalised curve tends to minus infinity as absent; the model then excludes them.
/// A group is absent if all its counts are zero, or if an unpenalised function is zero in the rows of all
/// positive counts, negative in another row, and nowhere positive.
void LaplaceCriterion::leave_out_absent(ResponseFit& out) {
  absent_.assign(design_.groups.size(), false);
  if (!has_counts() && estimator_.family != ManyFamily::binomial) return;
  for (std::size_t g = 0; g < design_.groups.size(); ++g) {
    if (design_.groups[g].own_curve.empty()) continue;
    absent_[g] = has_no_curve(design_.groups[g]);
    if (absent_[g]) out.absent.push_back(static_cast<int>(g));
  }
  if (out.absent.empty() || !has_counts()) return;
  counts_.clear();
  for (std::size_t g = 0; g < design_.groups.size(); ++g) {
    const RowGroup& group = design_.groups[g];
    for (int slot = group.begin * lane_count; !absent_[g] && slot < group.end * lane_count; ++slot) {
      if (weights_[at(slot)] != 0) counts_.add(y_[at(slot)], weights_[at(slot)]);
    }
  }
  counts_.finish();
}

/// Excludes the rows of absent groups, which have no deviance but would bias the estimate of the scale.
void LaplaceCriterion::leave_out_rows_of_absent(ResponseFit& out) {
  for (const int g : out.absent) {
    const RowGroup& group = design_.groups[at(g)];
    null_space_ -= static_cast<int>(group.own_line.size());
    for (int slot = group.begin * lane_count; slot < group.end * lane_count; ++slot) {
      out.rows -= weights_[at(slot)] != 0 ? 1 : 0;
      set_weight(slot, 0);
    }
  }
}

bool LaplaceCriterion::has_no_curve(const RowGroup& group) const {
  const auto first = static_cast<std::size_t>(group.begin) * lane_count;
  const auto last = static_cast<std::size_t>(group.end) * lane_count;
  const auto counts = [&](std::size_t slot) { return weights_[slot] != 0 && y_[slot] > 0; };
  std::size_t one = first;
  while (one < last && !counts(one)) ++one;
  if (one == last) return true;
  if (group.own_line.size() != 2) return false;
  // Value of `own_line` column 0 or 1 in a slot.
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
    if (weights_[slot] == 0) continue;
    // Zero in the row of the first positive count.
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
  if (has_log_link()) {
    exp_offsets_ = design_.exp_offset;
    if (offsets_.data() != design_.offset.data()) {
      own_exp_offsets_.resize(offsets_.size());
      exp_rows(offsets_.data(), design_.packets, own_exp_offsets_.data());
      exp_offsets_ = own_exp_offsets_;
    }
  }
  const std::span<const double> of_row = has_log_link() ? exp_offsets_ : offsets_;
  base::Lanes sum_of_offsets{};
  for (std::size_t i = 0; i < of_row.size(); i += lane_count)
    sum_of_offsets += base::load_lanes(weights_.data() + i) * base::load_lanes(of_row.data() + i);
  const double offsets = base::sum_of_lanes(sum_of_offsets);
  double level = 0;
  if (has_log_link())
    level = base::log(sum_ / offsets);
  else if (estimator_.family == ManyFamily::binomial)
    level = base::log((sum_ + 0.5) / (constants_.weight - sum_ + 0.5)) - offsets / constants_.weight;
  else
    level = (sum_ - offsets) / constants_.weight;
  start_level_ = level;
  for (std::size_t j = 0; j < point.b.size(); ++j) point.b[j] = level * design_.constant[j];
  if (estimator_.family == ManyFamily::nb)
    point.tau = base::log(estimator_.theta ? *estimator_.theta : theta_by_moments(level));
  // Initial lambdas make each penalty as large as X'WX on the penalised coefficients.
  std::vector<double> by_column(at(design_.columns));
  sums_->for_each(components_.size(), [&](std::size_t c) {
    components_[c]->add_information(family_at(point), theta_at(point), absent_, point, by_column);
  });
  std::vector<double> information(at(design_.parameters));
  std::vector<double> penalty(at(design_.parameters));
  for (const SharedPenalty& one : design_.penalties) {
    if (one.parameter < 0) continue;
    for (int j = 0; j < one.size(); ++j) {
      const double size = one.diagonal.empty() ? one.dense(j, j) : one.diagonal[at(j)];
      if (by_column[at(one.begin + j)] == 0 || size == 0) continue;
      information[at(one.parameter)] += by_column[at(one.begin + j)];
      penalty[at(one.parameter)] += base::exp(one.offset) * size;
    }
  }
  for (std::size_t j = 0; j < information.size(); ++j) {
    constexpr double least = 1e-8;
    point.log_sp[j] = penalty[j] > 0 ? base::log(std::max(information[j], least) / penalty[j]) : 0;
  }
  if (has_scale()) {
    double square = 0;
    const double weight = std::accumulate(weights_.begin(), weights_.end(), 0.0);
    const double mean = sum_ / weight;
    for (std::size_t i = 0; i < y_.size(); ++i) square += weights_[i] * (y_[i] - mean) * (y_[i] - mean);
    const double variance = estimator_.family == ManyFamily::gamma      ? mean * mean
                            : estimator_.family == ManyFamily::poisson  ? mean
                            : estimator_.family == ManyFamily::binomial ? mean * (1 - mean)
                                                                        : 1;
    point.tau = base::log(square / weight / variance);
  }
  return point;
}

/// Moment estimate of theta for counts with means e^(level + offset).
double LaplaceCriterion::theta_by_moments(double level) const {
  const double factor = base::exp(level);
  base::Lanes excesses{};
  base::Lanes squares_of_means{};
  for (std::size_t i = 0; i < y_.size(); i += lane_count) {
    const base::Lanes weight = base::load_lanes(weights_.data() + i);
    const base::Lanes mean = base::load_lanes(exp_offsets_.data() + i) * factor;
    const base::Lanes residual = base::load_lanes(y_.data() + i) - mean;
    excesses += weight * (residual * residual - mean);
    squares_of_means += weight * mean * mean;
  }
  const double excess = base::sum_of_lanes(excesses);
  const double squares = base::sum_of_lanes(squares_of_means);
  constexpr double least = 0.02;
  constexpr double most = 1e3;
  return excess > 0 ? std::clamp(squares / excess, least, most) : most;
}

bool LaplaceCriterion::settle(ManyPoint& point, double tolerance) {
  const double theta = theta_at(point);
  std::size_t settled = 0;
  sums_->for_each(components_.size(), [&](std::size_t c) {
    const bool is_settled =
        components_[c]->settle(family_at(point), theta, absent_, point, tolerance * phi_at(point));
    settled += is_settled ? 1 : 0;
  });
  if (settled < components_.size()) return false;
  evaluate(point);
  return std::isfinite(point.value);
}

/// For a family with scale phi, deviance D, saturated log likelihood l_s and unpenalised space of dimension
/// M: V = (D + b'Sb)/(2 phi) - l_s(phi) + log|A|/2 - log|S|+/2 - M log(2 pi phi)/2.
void LaplaceCriterion::evaluate(ManyPoint& point) {
  loss_ = 0;
  loss_by_tau_ = 0;
  loss_by_tau_twice_ = 0;
  double roughness = 0;
  point.value = 0;
  for (const auto& component : components_) {
    loss_ += component->loss().value;
    loss_by_tau_ += component->loss().by_tau;
    loss_by_tau_twice_ += component->loss().by_tau_twice;
    roughness += component->roughness();
    point.value += 0.5 * component->log_determinants();
  }
  if (has_scale()) {
    const double phi = phi_at(point);
    penalised_deviance_ = 2 * loss_ + roughness;
    point.value += penalised_deviance_ / (2 * phi) - scale_likelihood_.at(phi).value -
                   0.5 * null_space_ * base::log(2 * M_PI * phi);
    return;
  }
  saturated_ = {};
  if (family_at(point) == ManyFamily::nb)
    saturated_ = counts_.at(theta_at(point));
  else if (has_counts())
    saturated_.sum = counts_.poisson();
  point.value += loss_ - saturated_.sum + 0.5 * roughness;
}

std::vector<bool> LaplaceCriterion::may_be_lower(const ManyPoint& point, int parameter,
                                                 std::span<const double> log_sp) {
  std::vector<double> gains(log_sp.size());
  std::vector<double> costs(log_sp.size());
  for (std::size_t c = 0; c < components_.size(); ++c) {
    if (std::ranges::find(design_.components[c].parameters, parameter) !=
        design_.components[c].parameters.end())
      components_[c]->add_changes(point, absent_, parameter, log_sp, gains, costs);
  }
  // The criterion falls if the gain exceeds the cost. `share` allows for the error of the approximation.
  constexpr double share = 0.5;
  std::vector<bool> may(log_sp.size());
  for (std::size_t i = 0; i < may.size(); ++i)
    may[i] = !(costs[i] - gains[i] / phi_at(point) > share * std::abs(costs[i]));
  return may;
}

void LaplaceCriterion::list_parameters(ManyDerivatives& to) const {
  to.parameters.clear();
  for (const ComponentDerivatives& component : to.components) {
    for (const int parameter : component.parameters) {
      if (parameter >= 0) to.parameters.push_back(parameter);
    }
  }
  std::ranges::sort(to.parameters);
  to.parameters.erase(std::unique(to.parameters.begin(), to.parameters.end()), to.parameters.end());
}

void LaplaceCriterion::differentiate(const ManyPoint& point, ManyDerivatives& to) {
  const bool with_tau = has_tau() && !point.poisson;
  to.components.resize(components_.size());
  sums_->for_each(components_.size(), [&](std::size_t c) {
    components_[c]->differentiate(point, with_tau && !has_scale(), to.components[c]);
  });
  list_parameters(to);
  if (with_tau) to.parameters.push_back(index_of_tau);
  to.gradient.assign(to.parameters.size(), 0);
  to.hessian = Matrix(static_cast<int>(to.gradient.size()), static_cast<int>(to.gradient.size()));
  const double phi = phi_at(point);
  std::vector<int> places;
  for (const ComponentDerivatives& component : to.components) {
    places.clear();
    for (const int parameter : component.parameters)
      places.push_back(static_cast<int>(std::ranges::find(to.parameters, parameter) - to.parameters.begin()));
    for (std::size_t j = 0; j < places.size(); ++j) {
      to.gradient[at(places[j])] += component.gradient[j] + component.penalty_gradient[j] / phi;
      for (std::size_t k = 0; k < places.size(); ++k) {
        const auto row = static_cast<int>(j);
        const auto column = static_cast<int>(k);
        to.hessian(places[j], places[k]) +=
            component.hessian(row, column) + component.penalty_hessian(row, column) / phi;
      }
    }
  }
  if (with_tau) add_tau(point, to);
}

/// Adds the terms of the derivatives by tau that are not sums over components.
void LaplaceCriterion::add_tau(const ManyPoint& point, ManyDerivatives& to) const {
  const auto last = static_cast<int>(to.parameters.size()) - 1;
  if (family_at(point) == ManyFamily::nb) {
    to.gradient[at(last)] += loss_by_tau_ - saturated_.slope;
    to.hessian(last, last) += loss_by_tau_twice_ - saturated_.curvature;
    return;
  }
  const double phi = phi_at(point);
  const ScaleLikelihood::Value likelihood = scale_likelihood_.at(phi);
  to.gradient[at(last)] = -penalised_deviance_ / (2 * phi) - likelihood.slope - 0.5 * null_space_;
  to.hessian(last, last) = penalised_deviance_ / (2 * phi) - likelihood.curvature;
  for (const ComponentDerivatives& component : to.components) {
    for (std::size_t j = 0; j < component.parameters.size(); ++j) {
      const auto place =
          static_cast<int>(std::ranges::find(to.parameters, component.parameters[j]) - to.parameters.begin());
      to.hessian(place, last) -= component.penalty_gradient[j] / phi;
      to.hessian(last, place) = to.hessian(place, last);
    }
  }
}

void LaplaceCriterion::describe(const ManyPoint& point, ResponseFit& out) {
  out.deviance = 2 * loss_;
  out.null_deviance = 2 * sums_->null_loss(family_at(point), theta_at(point), start_level_);
  out.criterion = point.value - (estimator_.quasi ? 0 : constants_.log_likelihood);
  out.log_likelihood = estimator_.quasi ? std::numeric_limits<double>::quiet_NaN()
                                        : log_likelihood_of(estimator_.family, constants_, saturated_.sum,
                                                            loss_, out.deviance, phi_at(point));
}

bool LaplaceCriterion::add_covariance(const ManyPoint& point, ResponseFit& out) {
  const std::size_t size = at(packed_size(design_.columns));
  out.gram.assign(size, 0);
  out.inverse.assign(size, 0);
  out.coef_of_tests = point.b;
  struct ComponentPart {
    bool is_regular = false;
    PearsonSums pearson;
    double edf = 0;
  };
  std::vector<ComponentPart> parts(components_.size());
  sums_->for_each(parts.size(), [&](std::size_t c) {
    parts[c].is_regular = components_[c]->add_covariance(point, parts[c].pearson, parts[c].edf, out);
  });
  PearsonSums pearson;
  double edf = 0;
  for (const ComponentPart& part : parts) {
    if (!part.is_regular) return false;
    pearson.squares += part.pearson.squares;
    pearson.slopes += part.pearson.slopes;
    edf += part.edf;
  }
  if (has_scale()) out.scale = pearson.squares / (out.rows - edf);
  // Source: Fletcher, "Estimating overdispersion when fitting a generalized linear model to sparse data",
  // Biometrika 99 (2012), 230-237. `pearson.slopes` is zero unless V is that of poisson or binomial.
  constexpr double least = -0.9;
  if (estimator_.quasi) out.scale /= 1 + std::max(least, pearson.slopes / out.rows);
  return true;
}

}  // namespace TESSERA_NAMESPACE::gam

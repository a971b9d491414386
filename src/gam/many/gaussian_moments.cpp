// SPDX-License-Identifier: Apache-2.0
#include "gam/many/gaussian_moments.hpp"

#include "base/at.hpp"

#include <algorithm>
#include <array>

namespace TESSERA_NAMESPACE::gam {

using base::at;
using base::lane_count;

GaussianMoments::GaussianMoments(const SharedDesign& design)
    : design_(design), all_(design), step_(at(design.columns)), product_(at(design.columns)) {
  all_.set(std::vector<bool>(design.groups.size()), {});
}

void GaussianMoments::set_response(std::span<const double> y, std::span<const double> weights,
                                   std::span<const double> offset) {
  y_ = y;
  weights_ = weights;
  offset_ = offset;
  base_.assign(at(design_.columns), 0);
  sum_residuals();
  base_ = score_;
  design_.near_least_squares.solve(base_.data());
  sum_residuals();
}

void GaussianMoments::sum_residuals() {
  GroupSums sums(all_);
  score_.assign(at(design_.columns), 0);
  squares_.assign(design_.components.size(), 0);
  std::array<double, run_rows> residual;
  std::array<double, run_rows> weighted;
  std::array<double, lane_count> squares{};
  std::vector<double> own;
  std::size_t component = 0;
  all_.for_each_run([&](std::size_t g, const LaneColumns& run, std::size_t slot, int packets, bool ends) {
    own.clear();
    for (const int place : all_.places_of(g)) own.push_back(-base_[at(place)]);
    const auto rows = at(packets) * lane_count;
    for (std::size_t i = 0; i < rows; ++i) residual[i] = y_[slot + i] - offset_[slot + i];
    linear_combination(run, own.data(), packets, residual.data(), residual.data());
    multiply_rows(residual.data(), weights_.data() + slot, packets, weighted.data());
    add_sum_of_products(residual.data(), residual.data(), weights_.data() + slot, packets, squares.data());
    add_products(run, weighted.data(), packets, sums.products(g));
    if (!ends) return;
    sums.take_products(g, score_);
    while (design_.components[component].last_group <= static_cast<int>(g)) ++component;
    squares_[component] += base::sum_of_lanes(base::load_lanes(squares.data()));
    squares.fill(0);
  });
}

void GaussianMoments::score_and_gram(const LikelihoodPoint& point, const std::vector<double>& b,
                                     std::vector<double>& score, std::vector<double>& gram) {
  const DesignComponent& component = point.active.component();
  point.active.scatter(b, step_);
  for (int i = component.begin; i < component.end; ++i) {
    step_[at(i)] -= base_[at(i)];
    product_[at(i)] = 0;
  }
  for (int i = component.begin; i < component.end; ++i) {
    const double* const row = design_.gram.data() + place_in_packed(design_.columns, i, i);
    product_[at(i)] += row[0] * step_[at(i)];
    for (int j = i + 1; j < component.end; ++j) {
      product_[at(i)] += row[j - i] * step_[at(j)];
      product_[at(j)] += row[j - i] * step_[at(i)];
    }
  }
  score.clear();
  for (const int column : point.active.columns()) score.push_back(score_[at(column)] - product_[at(column)]);
  point.active.gather_matrix(design_.gram, gram);
}

LossDerivatives GaussianMoments::loss(const LikelihoodPoint& point, std::vector<double>& by_tau) {
  const DesignComponent& component = point.active.component();
  by_tau.clear();
  double change = 0;
  for (int i = component.begin; i < component.end; ++i)
    change += step_[at(i)] * (product_[at(i)] - 2 * score_[at(i)]);
  return {.value = 0.5 * (squares_[at(static_cast<int>(&component - design_.components.data()))] + change)};
}

void GaussianMoments::weight_derivatives(const LikelihoodPoint& point, const std::vector<double>& /*inverse*/,
                                         const std::vector<std::vector<double>>& first, bool /*with_tau*/,
                                         WeightSums& to) {
  to.set_zero(first.size(), point.active.size());
}

PearsonSums GaussianMoments::expected_gram(const LikelihoodPoint& point, std::vector<double>& gram) {
  point.active.gather_matrix(design_.gram, gram);
  std::vector<double> none;
  return {.squares = 2 * loss(point, none).value};
}

double GaussianMoments::null_loss(ManyFamily /*family*/, double /*theta*/, double level) {
  base::Lanes sum{};
  for (std::size_t i = 0; i < y_.size(); i += lane_count) {
    const base::Lanes residual =
        base::load_lanes(y_.data() + i) - base::load_lanes(offset_.data() + i) - level;
    sum += residual * residual * base::load_lanes(weights_.data() + i);
  }
  return 0.5 * base::sum_of_lanes(sum);
}

}  // namespace TESSERA_NAMESPACE::gam

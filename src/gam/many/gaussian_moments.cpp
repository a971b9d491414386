// SPDX-License-Identifier: Apache-2.0
#include "gam/many/gaussian_moments.hpp"

#include "gam/linalg/linalg.hpp"

#include <array>

namespace TESSERA_NAMESPACE::gam {

using base::at;
using base::lane_count;

namespace {

/// X'W (y - offset - X b), and the sum of squares of the residuals.
double sum_scores(const SharedDesign& design, std::span<const double> y, std::span<const double> offset,
                  const std::vector<double>& b, std::vector<double>& score) {
  ActiveColumns columns(design);
  columns.set(std::vector<bool>(design.groups.size()), {});
  GroupSums sums(columns);
  score.assign(at(design.columns), 0);
  std::array<double, run_rows> residual;
  std::array<double, run_rows> weighted;
  std::array<double, base::lane_count> squares{};
  std::vector<double> own;
  columns.for_each_run([&](std::size_t g, const LaneColumns& run, std::size_t slot, int packets, bool ends) {
    own.clear();
    for (const int place : columns.places_of(g)) own.push_back(-b[at(place)]);
    const auto rows = at(packets) * lane_count;
    for (std::size_t i = 0; i < rows; ++i) residual[i] = y[slot + i] - offset[slot + i];
    linear_combination(run, own.data(), packets, residual.data(), residual.data());
    multiply_rows(residual.data(), design.weight.data() + slot, packets, weighted.data());
    add_sum_of_products(residual.data(), residual.data(), design.weight.data() + slot, packets,
                        squares.data());
    add_products(run, weighted.data(), packets, sums.products(g));
    if (ends) sums.take_products(g, score);
  });
  return base::sum_of_lanes(base::load_lanes(squares.data()));
}

}  // namespace

GaussianMoments::GaussianMoments(const SharedDesign& design, std::span<const double> y,
                                 std::span<const double> offset)
    : design_(&design), base_(at(design.columns)) {
  sum_scores(design, y, offset, base_, score_);
  base_ = score_;
  design.near_least_squares.solve(base_.data());
  squares_ = sum_scores(design, y, offset, base_, score_);
}

std::vector<double> GaussianMoments::score(const std::vector<double>& b) const {
  return difference(score_, packed_product(design_->gram, difference(b, base_)));
}

double GaussianMoments::residual_sum_of_squares(const std::vector<double>& b) const {
  const std::vector<double> step = difference(b, base_);
  return squares_ - 2 * dot(step, score_) + dot(step, packed_product(design_->gram, step));
}

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/row_residuals.hpp"

#include "base/at.hpp"

#include <algorithm>
#include <cmath>

namespace TESSERA_NAMESPACE::gam {

using base::at;

double deviance_residual(const Rows& rows, std::size_t row, std::span<const double> eta) {
  const auto number = [&](int variable) { return rows.frame->variables[at(variable)].numbers[row]; };
  const Response y = rows.response_factor * response_of(rows, row);
  const double prior = rows.prior_weight < 0 ? 1 : rows.prior_factor * number(rows.prior_weight);
  if (const SeveralFamily* several = rows.family.several()) return several->deviance_residual(y, prior, eta);
  const double mu = rows.family.mean(eta[0]);
  // Rounding may make a saturated row's deviance slightly negative.
  return std::copysign(std::sqrt(std::max(0.0, rows.family.deviance(y, mu, prior))),
                       rows.family.residual_side(y, mu));
}

RowResiduals::RowResiduals(const Rows& rows, std::span<const double> raw_coef)
    : rows_(rows), raw_coef_(raw_coef), reader_(rows), eta_(at(rows.family.predictor_count())) {
  if (!rows.series.correlated() || !rows.series.before) return;
  Rows before = rows;
  before.frame = rows.series.before.get();
  RowReader reader(before);
  before_rank_ = residual_in(before, reader, 0).deviance;
}

RowResiduals::Residual RowResiduals::residual_in(const Rows& rows, RowReader& reader, std::size_t row) {
  reader.linear_predictors(row, raw_coef_, eta_);
  return {eta_, deviance_residual(rows, row, eta_)};
}

RowResiduals::Residual RowResiduals::of(std::size_t row) {
  return residual_in(rows_, reader_, row);
}

double RowResiduals::standardised(std::size_t row) {
  const double own = of(row).deviance;
  if (!rows_.series.correlated()) return own;
  std::optional<double> before = before_rank_;
  if (const auto previous = complete_before(*rows_.frame, row))
    before = last_ && last_->first == *previous ? last_->second : of(*previous).deviance;
  last_ = {row, own};
  if (!before || rows_.series.begins_at(*rows_.frame, row)) return own;
  const NeighbourWeights weights = rows_.series.weights();
  return weights.own * own + weights.before * *before;
}

}  // namespace TESSERA_NAMESPACE::gam

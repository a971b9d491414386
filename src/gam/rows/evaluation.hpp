// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/row_step.hpp"
#include "gam/rows/tables.hpp"
#include "gam/terms/evaluation.hpp"

#include <cmath>

/// What is computed of one row, by the same source on the host and in a kernel.
namespace tessera::gam {

/// A variance, but for what rounding has made less than none. What is no number stays.
inline double not_negative(double variance) {
  return variance < 0 ? 0.0 : variance;
}

/// What one row gives to a pass: its weight, its working residual, and four scalars: w r^2, deviance, 1 if
/// the row is bad, and nothing (moments: prior weight, weighted response; deviance: prior (y - mu)^2 in the
/// first place and sqrt(prior) (y - mu) in the last).
struct RowOutcome {
  double weight;
  double residual;
  double scalars[row_scalar_count];
};

/// `eta` includes `offset`. A row without finite numbers is bad, and gives nothing else.
template <RowFamily F>
inline RowOutcome row_outcome(PassKind kind, const F& family, double y, double eta, double offset,
                              double prior) {
  if (kind == PassKind::moments) {
    const double level = F::linear ? y - offset : y;
    return {1, 1, {prior, prior * level, 0, 0}};
  }
  double shift = 0;
  if (kind == PassKind::start) {
    const double first = first_predictor(family, y, prior);
    // eta is a sum of zeros here, unless a variable is not finite.
    eta = first + 0 * eta;
    shift = first - offset;
  }
  const RowStep step = row_step(family, y, eta, prior);
  const double residual = shift + step.residual;
  const double square = step.weight * residual * residual;
  // A difference with itself is 0 for finite numbers alone, and the square is one only if its factors
  // are. The predictor is asked too: an inverse link's clamp would make a number of a NaN. A custom family's
  // variance may be negative for a mean.
  if (!(eta - eta == 0 && square - square == 0 && step.deviance - step.deviance == 0 && step.weight >= 0)) {
    return {0, 0, {0, 0, 1, 0}};
  }
  if (kind == PassKind::deviance) {
    const double difference = sqrt(prior) * (y - family.mean(eta));
    return {step.weight, residual, {difference * difference, step.deviance, 0, difference}};
  }
  return {step.weight, residual, {square, step.deviance, 0, 0}};
}

/// Scalars that a pass for so many parameters of a family sums: see `likelihood_outcome`.
constexpr int parameter_scalar_count(int parameters) {
  return likelihood_term_count(parameters) + 1;
}

/// What one row gives to the derivatives of the likelihood in the family's parameters: its `likelihood_terms`
/// with the prior weight, then 1 if the row is bad. A row without finite numbers is bad, and gives nothing
/// else.
template <ParametricFamily F>
inline void likelihood_outcome(const F& family, double y, double eta, double prior, double* scalars) {
  constexpr int terms = likelihood_term_count(F::parameter_count);
  family.likelihood_terms(y, family.mean(eta), scalars);
  double sum = eta;
  for (int k = 0; k < terms; ++k) {
    scalars[k] *= prior;
    sum += scalars[k];
  }
  const bool bad = !(sum - sum == 0);
  if (bad) {
    for (int k = 0; k < terms; ++k) scalars[k] = 0;
  }
  scalars[terms] = bad ? 1 : 0;
}

}  // namespace tessera::gam

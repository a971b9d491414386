// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/row_step.hpp"
#include "gam/family/several_row.hpp"
#include "gam/rows/tables.hpp"
#include "gam/terms/evaluation.hpp"

#include <cmath>

/// Computations of one row, shared by CPU and GPU code.
namespace TESSERA_NAMESPACE::gam {

/// A row's contribution to a pass. The scalars depend on the pass:
/// - start, step: w r^2 (see `square_is_deviance`), the deviance, 1 if the row is bad, 0;
/// - moments: prior weight, weighted response (gaussian: response - offset), 0, 0;
/// - deviance: prior (y - mu)^2, the deviance, 1 if the row is bad, sqrt(prior) (y - mu).
template <class T>
struct RowOutcome {
  T weight;
  T residual;
  T scalars[row_scalar_count];
};

/// Computes a row's contribution. `eta` includes `offset`. A row with a number that is not finite is bad, and
/// contributes nothing else. T is a double or a packet of rows; Y is `Response` or T.
template <class T, RowFamily F, class Y>
inline RowOutcome<T> row_outcome(PassKind kind, const F& family, const Y& y, T eta, const Same<T>& offset,
                                 const Same<T>& prior) {
  const T value(y);
  const T zero(0.0);
  if (kind == PassKind::moments) {
    const T level = F::linear ? value - offset : value;
    return {T(1.0), T(1.0), {prior, prior * level, zero, zero}};
  }
  T shift(0.0);
  if (kind == PassKind::start) {
    const T first = first_predictor(family, value, prior);
    // At the start all coefficients are 0: eta is the offset, or NaN if a variable is not finite.
    eta = first + 0 * eta;
    shift = first - offset;
  }
  const RowStep<T> step = row_step(family, y, eta, prior);
  const T residual = shift + step.residual;
  T square = step.weight * residual * residual;
  if constexpr (requires { family.square_is_deviance; }) {
    if (kind != PassKind::start) square = step.deviance + 0 * residual;
  }
  // A custom family's weight may be negative. x - x is 0 only for finite x; the square is finite only if
  // weight and residual are. eta is tested because an inverse link's clamp turns NaN into a number.
  const auto good = (eta - eta == 0.0) & (square - square == 0.0) & (step.deviance - step.deviance == 0.0) &
                    (step.weight >= 0.0);
  const auto unless_bad = [&](const T& number) { return choose(good, number, zero); };
  T first = square;
  T last(0.0);
  if (kind == PassKind::deviance) {
    last = sqrt(prior) * (value - family.mean(eta));
    first = last * last;
  }
  return {unless_bad(step.weight),
          unless_bad(residual),
          {unless_bad(first), unless_bad(step.deviance), choose(good, zero, T(1.0)), unless_bad(last)}};
}

/// A row's contribution for a family with several linear predictors. `weights`: minus the second derivatives
/// of the log-likelihood by pair of predictors, then its gradient. Scalars of a step: 1 if the row is good,
/// -2 log-likelihood, 1 if the row is bad, 0. In a deviance pass the first and last scalars are the squared
/// deviance residuals of the null model and of the model. Of moments: the prior weight times 1, y, 0, y^2.
template <int P>
struct SeveralOutcome {
  double weights[predictor_pairs(P) + P];
  double scalars[row_scalar_count];
};

/// `null`: linear predictors of the null model; NaN: use the model's predictor.
template <class F>
inline SeveralOutcome<F::predictors> several_outcome(PassKind kind, const F& family, double y,
                                                     const double* eta, double prior, const double* null) {
  constexpr int predictors = F::predictors;
  SeveralOutcome<predictors> out{};
  if (kind == PassKind::moments) {
    out.weights[0] = 1;
    out.scalars[0] = prior;
    out.scalars[1] = prior * y;
    out.scalars[3] = prior * y * y;
    return out;
  }
  const bool derivatives = kind != PassKind::deviance;
  double* const scores = derivatives ? out.weights + predictor_pairs(predictors) : nullptr;
  const double log_likelihood = prior * row_log_likelihood(family, y, eta, scores, out.weights);
  double sum = log_likelihood;
  for (int p = 0; p < predictors; ++p) sum += eta[p];
  for (double& weight : out.weights) sum += weight *= prior;
  out.scalars[0] = 1;
  if (!derivatives) {
    double of_null[predictors];
    for (int p = 0; p < predictors; ++p) of_null[p] = null[p] == null[p] ? null[p] : eta[p];
    out.scalars[0] = prior * family.squared_residual(y, of_null);
    out.scalars[3] = prior * family.squared_residual(y, eta);
    sum += out.scalars[0] + out.scalars[3];
  }
  out.scalars[1] = -2 * log_likelihood;
  if (sum - sum == 0) return out;
  out = {};
  out.scalars[2] = 1;
  return out;
}

/// Number of scalars of `likelihood_outcome`.
constexpr int parameter_scalar_count(int parameters) {
  return likelihood_term_count(parameters) + 1;
}

template <ParametricFamily F, class T>
inline void settle_likelihood(const F& family, const T& eta, const Same<T>& prior, T* scalars) {
  const int terms = likelihood_term_count(parameter_count_of(family));
  T sum = eta;
  for (int k = 0; k < terms; ++k) {
    scalars[k] *= prior;
    sum += scalars[k];
  }
  const auto good = sum - sum == 0.0;
  for (int k = 0; k < terms; ++k) scalars[k] = choose(good, scalars[k], T(0.0));
  scalars[terms] = choose(good, T(0.0), T(1.0));
}

/// A row's derivatives of the likelihood with respect to the family's parameters: its `likelihood_terms`,
/// times the prior weight (or `weighted_terms`), then 1 if the row is bad. A row with a number that is not
/// finite is bad, and contributes nothing else.
template <ParametricFamily F, class Y, class T>
inline void likelihood_outcome(const F& family, const Y& y, const T& eta, Same<T> prior, T* scalars) {
  if constexpr (requires { family.weighted_terms(y, eta, prior, scalars); }) {
    const T inside = choose(prior > 0.0, prior, T(1.0));
    family.weighted_terms(y, family.mean(eta), inside, scalars);
    prior = prior / inside;
  } else {
    family.likelihood_terms(y, family.mean(eta), scalars);
  }
  settle_likelihood(family, eta, prior, scalars);
}

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/parts.hpp"

/// What a family gives to one row of a pass, on the host and in a kernel.
namespace tessera::gam {

/// What one row gives to a step of performance iteration.
struct RowStep {
  double weight;    ///< w = prior (dmu/deta)^2 / V(mu), Fisher
  double residual;  ///< working residual (y - mu) dη/dμ; the working response is eta - offset + this
  double deviance;  ///< of this row, with its prior weight
};

template <RowFamily F>
inline RowStep row_step(const F& family, double y, double eta, double prior) {
  const double mu = family.mean(eta);
  const double slope = family.derivative(eta);
  return {family.weight(prior, mu, slope), (y - mu) / slope, family.deviance(y, mu, prior)};
}

/// The predictor that a row's first step starts from; not a number where a fit starts elsewhere.
template <RowFamily F>
inline double first_predictor(const F& family, double y, double prior) {
  if constexpr (F::start == Start::mean) {
    return std::numeric_limits<double>::quiet_NaN();
  } else {
    return family.link(family.first_mean(y, prior));
  }
}

}  // namespace tessera::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/parts.hpp"

/// Contributions of a family to one row of a pass, on the host and in a kernel.
namespace TESSERA_NAMESPACE::gam {

/// The Fisher scoring step of a row's mean.
template <RowFamily F>
inline double mean_step([[maybe_unused]] const F& family, double y, double mu) {
  if constexpr (requires { family.mean_step(y, mu); }) {
    return family.mean_step(y, mu);
  } else {
    return y - mu;
  }
}

/// Factor that raises the weight of a row near a limit of the means; the row's score is unchanged. A step is
/// halved while any row leaves the range of means, so a single row at a limit could stop all others. With a
/// factor of 1e4, the row stays within the range as long as other rows push it out by less than 1e4 times its
/// score. Its weight is at most 1e12 times an inner row's, and does not dominate.
template <RowFamily F>
inline double caution_at([[maybe_unused]] const F& family, [[maybe_unused]] double mu) {
  if constexpr (requires { family.is_at_end(mu); }) {
    return family.is_at_end(mu) ? 1e4 : 1;
  } else {
    return 1;
  }
}

template <RowFamily F>
inline RowStep row_step(const F& family, Response y, double eta, double prior) {
  const double mu = family.mean(eta);
  const double slope = family.derivative(eta);
  if constexpr (StepFamily<F>) {
    const RowStep of_mean = family.step(y, mu, prior);
    return {of_mean.weight * slope * slope, of_mean.residual / slope, of_mean.deviance};
  } else {
    const double caution = caution_at(family, mu);
    return {caution * family.weight(prior, mu, slope), mean_step(family, y, mu) / slope / caution,
            family.deviance(y, mu, prior)};
  }
}

/// The linear predictor at which a row's first step starts; NaN if the fit starts elsewhere.
template <RowFamily F>
inline double first_predictor(const F& family, double y, double prior) {
  if constexpr (requires { family.first_mean(y, prior); }) {
    if (family.start != Start::mean) return family.link(family.first_mean(y, prior));
  }
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace TESSERA_NAMESPACE::gam

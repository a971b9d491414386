// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/parts.hpp"

/// A family's weight, working residual and deviance of a row, on the host and in kernels.
namespace TESSERA_NAMESPACE::gam {

template <RowFamily F, FormulaNumber T>
T mean_step([[maybe_unused]] const F& family, const Same<T>& y, const T& mu) {
  if constexpr (requires { family.mean_step(y, mu); }) {
    return family.mean_step(y, mu);
  } else {
    return y - mu;
  }
}

/// Factor on the weight of a row whose mean is near a limit; the score is unchanged. Without the factor one
/// row at a limit stops the fit: steps are halved until all rows are inside the limits. With 1e4, the row
/// stays inside if other rows push with less than 1e4 times its score. The row's weight is at most 1e12 times
/// that of an inner row, and does not dominate.
template <RowFamily F, FormulaNumber T>
T caution_at([[maybe_unused]] const F& family, [[maybe_unused]] const T& mu) {
  if constexpr (requires { family.is_at_end(mu); }) {
    return choose(family.is_at_end(mu), T(1e4), T(1.0));
  } else {
    return T(1.0);
  }
}

/// Y is `Response` or T.
template <RowFamily F, class Y, FormulaNumber T>
RowStep<T> row_step(const F& family, const Y& y, const T& eta, const Same<T>& prior) {
  const T mu = family.mean(eta);
  const T slope = family.derivative(eta);
  const auto times_slope = [&](const RowStep<T>& of_mean) {
    return RowStep<T>{of_mean.weight * slope * slope, of_mean.residual / slope, of_mean.deviance};
  };
  if constexpr (StepFamily<F>) {
    return times_slope(family.step(y, mu, prior));
  } else if constexpr (requires { family.joint_step(y, mu, prior); }) {
    return times_slope(family.joint_step(y, mu, prior));
  } else {
    const T caution = caution_at(family, mu);
    return {caution * family.weight(prior, mu, slope), mean_step(family, y, mu) / slope / caution,
            family.deviance(y, mu, prior)};
  }
}

/// Initial linear predictor of a row; NaN with `Start::mean`.
template <RowFamily F, FormulaNumber T>
T first_predictor(const F& family, const T& y, const Same<T>& prior) {
  if constexpr (requires { family.first_mean(y, prior); }) {
    if (family.start != Start::mean) return family.link(family.first_mean(y, prior));
  }
  return T(std::numeric_limits<double>::quiet_NaN());
}

}  // namespace TESSERA_NAMESPACE::gam

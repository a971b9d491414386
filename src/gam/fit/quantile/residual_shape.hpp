// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/fit/run/fit_context.hpp"
#include "gam/rows/row_pass.hpp"

#include <array>
#include <span>

namespace TESSERA_NAMESPACE::gam {

/// A sinh-arcsinh distribution (Jones and Pewsey 2009): location, log scale, skewness and log kurtosis, as in
/// mgcv's shash. With z = (x - location) exp(-log scale - log kurtosis) and delta = exp(log kurtosis),
/// sinh(delta asinh(z) - skewness) is standard normal.
struct ResidualShape {
  std::array<double, 4> parameters{};

  [[nodiscard]] double up_to(double x) const;
  [[nodiscard]] double quantile(double p) const;
  /// The log density at x, and its derivative.
  struct LogDensity {
    double value, slope;
  };
  [[nodiscard]] LogDensity log_density(double x) const;
  [[nodiscard]] double mode() const;
};

/// *Collective.* The likeliest distribution of the residuals (y - mu) / deviation of the rows, mu the
/// predictor of `raw_coef`, without prior weights. Every rank gets the bits of rank 0.
[[nodiscard]] ResidualShape residual_shape(const FitContext& fit, const Rows& rows,
                                           std::span<const double> raw_coef, double deviation);

/// The error `err` that balances bias and variance of the estimate of quantile `qu` from `rows` residuals of
/// this shape, by the asymptotic rule of Fasiolo and others, JASA 116 (2021), as in qgam, at most 1; `edf`:
/// of the model of the mean. Near the mode, where that rule has no finite answer, `qu` is moved 0.05 away
/// from it.
[[nodiscard]] double best_error(const ResidualShape& shape, double qu, double edf, double rows);

}  // namespace TESSERA_NAMESPACE::gam

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
  struct LogDensity {
    double value, slope;
  };
  [[nodiscard]] LogDensity log_density(double x) const;
  [[nodiscard]] double mode() const;
};

/// *Collective.* The maximum likelihood fit to the residuals (y - mu) / deviation of the rows, where mu is
/// the predictor of `raw_coef`. Ignores prior weights. Every rank gets the bits of rank 0.
[[nodiscard]] ResidualShape residual_shape(const FitContext& fit, const Rows& rows,
                                           std::span<const double> raw_coef, double deviation);

/// The error `err`, at most 1, that balances bias and variance of the estimate of quantile `qu` from `rows`
/// residuals of this shape. Asymptotic rule of Fasiolo and others, JASA 116 (2021), as in qgam. `edf`: of the
/// model of the mean. Near the mode the rule has no finite answer, so `qu` is kept 0.05 from the mode's.
[[nodiscard]] double best_error(const ResidualShape& shape, double qu, double edf, double rows);

}  // namespace TESSERA_NAMESPACE::gam

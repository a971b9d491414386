// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/fit/run/fit_context.hpp"
#include "gam/rows/row_pass.hpp"

#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Of the standardised residuals of a series: deviance residuals, each less rho times that of the row before
/// it and divided by sqrt(1 - rho^2), as `std.rsd` of mgcv's bam; without correlation the deviance residuals.
struct SerialResiduals {
  double sum_of_squares = 0;  ///< in the units of the fit
  std::vector<double>
      autocorrelation;  ///< at lags from 1 on, within series; 0 where no rows are so far apart
};

/// *Collective.* At the coefficients `raw_coef` = M beta. Rows of one series are those of one value of the
/// variable `group`, neighbours or not; -1: those that `rows.series` tells. Pairs of rows of different blocks
/// of the plan are not counted, so that the bits do not depend on where the rows are. Cost: one look at the
/// rows, on the host's threads.
[[nodiscard]] SerialResiduals serial_residuals(const FitContext& fit, const Rows& rows,
                                               std::span<const double> raw_coef, int lags, int group = -1);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/fit/run/fit_context.hpp"
#include "gam/rows/row_pass.hpp"

#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Sums of the standardised residuals of series, like `std.rsd` of mgcv's bam: (d_i - rho d_{i-1}) / sqrt(1 -
/// rho^2) with deviance residuals d.
struct SerialResiduals {
  double sum_of_squares = 0;            ///< in the units of the fit
  std::vector<double> autocorrelation;  ///< for lags 1, 2, …, within series; 0 for a lag without pairs
};

/// *Collective.* Sums of the residuals at the coefficients `raw_coef` = M beta. A series consists of all rows
/// with the same value of the variable `group`, consecutive or not; if `group` is -1, `rows.series` has the
/// series. Pairs of rows in different blocks of the plan are not counted, so that the bits do not depend on
/// the distribution of rows. Cost: one scan of the rows, on host threads.
[[nodiscard]] SerialResiduals serial_residuals(const FitContext& fit, const Rows& rows,
                                               std::span<const double> raw_coef, int lags, int group = -1);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/fit/run/fit_context.hpp"
#include "gam/rows/row_pass.hpp"

namespace TESSERA_NAMESPACE::gam {

/// *Collective.* The quantile family of `rows` with its width and learning rate, as given or chosen as by R's
/// qgam. A Gaussian fit gives variance and residuals. `err` is chosen from the shape of the residuals
/// (`best_error`), and gives the width together with the variance. The learning rate minimises the mean over
/// the rows of sqrt(r - log r), with r the ratio of the sandwich and the posterior variance of the quantile,
/// as `calFast` of qgam 2.0. Cost: a fit for each of about ten candidates. Deterministic. CPU only; every
/// rank gets the same bits. Throws the errors of `PirlsLoop`, and `Error(usage)` if the model has so many
/// coefficients that the rate must be given.
[[nodiscard]] Family calibrated_quantile(const FitContext& fit, const Rows& rows);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/fit/run/fit_context.hpp"
#include "gam/rows/row_pass.hpp"

namespace TESSERA_NAMESPACE::gam {

/// *Collective.* The family of `rows`, of a quantile, with the width of its loss and its learning rate: those
/// given, or chosen as by qgam of R. A gaussian fit of the rows gives the variance, from which and from `err`
/// the width follows, and residuals, from whose shape `err` is chosen (`best_error`). The learning rate is
/// where the posterior covariance of the quantile is nearest to its sandwich covariance: where the mean over
/// the rows of sqrt(r - log r) is least, r the ratio of the two variances, as by `calFast` of qgam 2.0. There
/// is a fit for each candidate, some ten in all, and nothing is random. CPU only; every rank gets the same
/// bits. Throws `Error(usage)` for a model with so many coefficients that the rate must be given; and as
/// `PirlsLoop`.
[[nodiscard]] Family calibrated_quantile(const FitContext& fit, const Rows& rows);

}  // namespace TESSERA_NAMESPACE::gam

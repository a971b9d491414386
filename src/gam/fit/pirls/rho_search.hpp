// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/fit/run/fit_context.hpp"
#include "gam/rows/row_pass.hpp"

#include <functional>

namespace TESSERA_NAMESPACE::gam {

/// Minimises `score` over (-1, 1), to 1e-5. Widens a bracket around `start` until its ends score higher than
/// its middle or reach the limits, then uses golden-section search. Finds a local minimum. Pure.
[[nodiscard]] double least_correlation(double start, const std::function<double(double)>& score);

/// *Collective.* Returns the lag-1 correlation of residuals that minimises fREML, for a Gaussian model with
/// the identity link. The search starts at the lag-1 autocorrelation of the residuals of independent rows.
/// `rows` must have their final design, and series without correlation; `moments`: of `rows`. mgcv has no
/// such search. Cost: a pass over the rows and a REML search for each of some 25 correlations.
[[nodiscard]] double rho_of_least_score(const FitContext& fit, const Rows& rows, const RawMoments& moments);

}  // namespace TESSERA_NAMESPACE::gam

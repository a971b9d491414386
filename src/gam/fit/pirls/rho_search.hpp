// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/fit/run/fit_context.hpp"
#include "gam/rows/row_pass.hpp"

#include <functional>

namespace TESSERA_NAMESPACE::gam {

/// Minimises `score` over (-1, 1), to 1e-5: widens an interval around `start` until `score` is higher at its
/// ends than inside, or they reach the limits; then golden section. Finds one of several minima. Pure.
[[nodiscard]] double least_correlation(double start, const std::function<double(double)>& score);

/// *Collective.* Returns the correlation of neighbouring residuals of least fREML, for a gaussian model with
/// the identity link. The search starts at the lag-1 autocorrelation of the residuals of independent rows.
/// `rows` have their final design, and series without correlation; `moments`: theirs. mgcv has no such
/// search. Cost: a pass over the rows and a search for smoothing parameters for each of some 25 correlations.
[[nodiscard]] double rho_of_least_score(const FitContext& fit, const Rows& rows, const RawMoments& moments);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/fit/run/fit_context.hpp"
#include "gam/rows/row_pass.hpp"

#include <functional>

namespace TESSERA_NAMESPACE::gam {

/// Where `score` is least within (-1, 1), to 1e-5: an interval about `start` is widened until its ends are
/// higher than a point within, or the limits are reached, and narrowed by golden section. For a score with
/// one minimum; of several, one of them. Pure.
[[nodiscard]] double least_correlation(double start, const std::function<double(double)>& score);

/// *Collective.* The correlation of neighbouring residuals with which a gaussian model with the identity link
/// has the least fREML, the search beginning at the lag-1 autocorrelation of the residuals of independent
/// rows. `rows` have their final design, and series without correlation; `moments` are theirs. mgcv has no
/// such search. Cost: a pass over the rows and a search for smoothing parameters for each of some 25
/// correlations.
[[nodiscard]] double rho_of_least_score(const FitContext& fit, const Rows& rows, const RawMoments& moments);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/frame.hpp"
#include "gam/model/model.hpp"

#include <tessera/gam/check.hpp>

#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Checks of basis dimensions as in mgcv's `k.check`, for complete rows in memory. The k-index of a smooth is
/// half the mean squared difference of residuals of neighbouring rows, divided by the mean squared residual.
/// The p-value is the proportion of random permutations of the residuals with a smaller k-index. `design`:
/// the model's design with the variable indices of `rows`.
///
/// Each smooth has its own random stream of `options.seed`. Ties in distance go to the first rows. Cost:
/// O(n^2) for a smooth of several variables.
[[nodiscard]] std::vector<BasisCheck> check_bases(const FittedModel& model, const Design& design, Frame rows,
                                                  std::span<const double> residuals,
                                                  const CheckOptions& options);

}  // namespace TESSERA_NAMESPACE::gam

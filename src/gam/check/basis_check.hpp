// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/frame.hpp"
#include "gam/model/model.hpp"

#include <tessera/gam/check.hpp>

#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Tests whether residuals are similar in rows that are neighbours in a smooth's variables. The k-index of a
/// smooth is half the mean squared difference of neighbouring residuals, divided by their mean square. The
/// p-value is the proportion of random permutations of the residuals that give a smaller index. Like mgcv's
/// `k.check`, for complete rows in memory. `design`: the model's design, with the variables of `frame`.
///
/// The p-value of each smooth uses its own random generator with the seed. Ties in distance go to the first
/// rows. Cost: O(n^2) for a smooth of several variables.
[[nodiscard]] std::vector<BasisCheck> check_bases(const FittedModel& model, const Design& design, Frame rows,
                                                  std::span<const double> residuals,
                                                  const CheckOptions& options);

}  // namespace TESSERA_NAMESPACE::gam

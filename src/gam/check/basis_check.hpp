// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/frame.hpp"
#include "gam/model/model.hpp"

#include <tessera/gam/check.hpp>

#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Tests whether residuals of neighbours in a smooth's variables are alike: the k-index of each smooth, half
/// the mean squared difference of neighbouring residuals over their mean square, and the proportion of random
/// permutations of the residuals with a smaller index. As mgcv's `k.check`, for complete rows in memory;
/// `design` is the model's with the frame's variables.
///
/// The p-values use random generators of their own, with the seed. Ties in distance: the first rows. Cost:
/// O(n^2) for a smooth of several variables.
[[nodiscard]] std::vector<BasisCheck> check_bases(const FittedModel& model, const Design& design, Frame rows,
                                                  std::span<const double> residuals,
                                                  const CheckOptions& options);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/model/model.hpp"
#include "gam/table/frame/frame.hpp"

#include <tessera/gam/check.hpp>

#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Whether neighbours in the variables of a smooth have alike residuals: the k-index of each smooth, half the
/// mean square of differences of neighbours over that of residuals, and the share of random orders of the
/// residuals in which it is less. As `k.check` of mgcv, for rows in memory, all of them complete: `design` is
/// the model's with the frame's variables.
///
/// The p-values come from generators of their own, by the seed. Where rows are equally far from another one,
/// the first are its neighbours. Cost: O(n^2) for a smooth of several variables.
[[nodiscard]] std::vector<BasisCheck> check_bases(const FittedModel& model, const Design& design, Frame rows,
                                                  std::span<const double> residuals,
                                                  const CheckOptions& options);

}  // namespace TESSERA_NAMESPACE::gam

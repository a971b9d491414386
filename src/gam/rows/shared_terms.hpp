// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

/// Terms that linear predictors share, in the rows of a chunk: arrays by formula or linear predictor, with
/// `chunk_rows` rows each. `readers`: see `Design`.
namespace TESSERA_NAMESPACE::gam {

/// The linear predictors, as many as `predictors`, from the sums of the terms of each formula.
[[nodiscard]] std::vector<double> predictors_of_formulas(const std::vector<std::vector<int>>& readers,
                                                         int predictors, const std::vector<double>& sums);

/// First derivatives with respect to the sums of formulas, from those with respect to linear predictors.
[[nodiscard]] std::vector<double> scores_of_formulas(const std::vector<std::vector<int>>& readers,
                                                     const std::vector<double>& scores);

/// Second derivatives, likewise, by pair: that of two formulas is the sum over all pairs of a reader of one
/// and a reader of the other.
[[nodiscard]] std::vector<double> curvatures_of_formulas(const std::vector<std::vector<int>>& readers,
                                                         int predictors,
                                                         const std::vector<double>& curvatures);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

/// Formulas whose terms several linear predictors share. Arrays have `chunk_rows` values for each formula,
/// linear predictor or pair of these. `readers[f]`: the linear predictors that include formula f (see
/// `Design`).
namespace TESSERA_NAMESPACE::gam {

/// The linear predictors, from each formula's sum of terms.
[[nodiscard]] std::vector<double> predictors_of_formulas(const std::vector<std::vector<int>>& readers,
                                                         int predictors, const std::vector<double>& sums);

/// First derivatives with respect to formulas, from those with respect to linear predictors.
[[nodiscard]] std::vector<double> scores_of_formulas(const std::vector<std::vector<int>>& readers,
                                                     const std::vector<double>& scores);

/// Second derivatives by pair of formulas: sums over all pairs of their readers.
[[nodiscard]] std::vector<double> curvatures_of_formulas(const std::vector<std::vector<int>>& readers,
                                                         int predictors,
                                                         const std::vector<double>& curvatures);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/fit/row_sample.hpp"
#include "gam/model/model.hpp"
#include "gam/report/figures.hpp"

#include <cstddef>
#include <optional>
#include <vector>

/// Plots for counts and proportions, whose individual residuals lie on a few curves.
namespace TESSERA_NAMESPACE::gam {

/// binomial or quasibinomial.
[[nodiscard]] bool is_binomial(const Family& family);
/// poisson, quasipoisson or nb.
[[nodiscard]] bool is_count(const Family& family);

/// Sampled rows: responses, linear predictors and prior weights.
struct ResponseSample {
  std::vector<double> response;
  std::vector<double> predictor;
  std::vector<double> weight;
  std::vector<std::size_t> row{};  ///< index of the row in `RowSample`; empty: no `RowSample`
};

/// The responses of a binomial or count family, from `rows`. If `rows` is null, inverts the deviance
/// residuals of the outline, which is possible for whole-number responses with prior weight 1. Empty
/// otherwise, and for fewer than two rows.
[[nodiscard]] std::optional<ResponseSample> discrete_responses(const FittedModel& model,
                                                               const RowSample* rows);

/// Randomised quantile residuals: normal quantiles of uniform numbers between P(Y < y) and P(Y <= y), seeded
/// by the index in `sample`. Empty if the distribution is unknown: quasi families, counts with prior weights,
/// and fractional trials. Source: Dunn and Smyth, J. Comput. Graph. Stat. 5 (1996), 236-244.
[[nodiscard]] std::vector<double> quantile_residuals(const FittedModel& model, const ResponseSample& sample);

/// Observed against fitted proportions of groups of rows (`groups_by` fitted proportion), with intervals of
/// two standard errors around the fitted proportions.
[[nodiscard]] Picture proportions(const FittedModel& model, const ResponseSample& sample);

/// Mean Pearson residuals against mean linear predictors of groups of rows (`groups_by` linear predictor).
/// The band is two standard errors of a group mean under the model. Source: Gelman and Hill, Data Analysis
/// Using Regression (2007), section 5.6.
[[nodiscard]] Picture binned_residuals(const FittedModel& model, const ResponseSample& sample);

/// A hanging rootogram of counts, in at most 40 bins. A bar hangs from the square root of the expected number
/// of rows; its length is the square root of the observed number. Requires a known distribution and prior
/// weights 1. Source: Kleiber and Zeileis, The American Statistician 70 (2016), 296-303.
[[nodiscard]] Picture rootogram(const FittedModel& model, const ResponseSample& sample);

}  // namespace TESSERA_NAMESPACE::gam

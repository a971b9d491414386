// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/fit/row_sample.hpp"
#include "gam/model/model.hpp"
#include "gam/report/figures.hpp"

#include <cstddef>
#include <optional>
#include <vector>

/// Plots for counts and proportions. A plot of their individual residuals is uninformative, since these lie
/// on a few curves.
namespace TESSERA_NAMESPACE::gam {

/// Whether the responses of a family are counts, or successes among trials.
[[nodiscard]] bool is_binomial(const Family& family);
[[nodiscard]] bool is_count(const Family& family);

/// Responses of sampled rows, and the predictions for these rows.
struct ResponseSample {
  std::vector<double> response;
  std::vector<double> predictor;
  std::vector<double> weight;
  std::vector<std::size_t> row{};  ///< index in the sample; empty: unknown
};

/// The responses of a discrete family: taken from `rows` or, if that is null, from the outline, whose
/// residuals determine whole-number responses of prior weight 1. Empty in other cases.
[[nodiscard]] std::optional<ResponseSample> discrete_responses(const FittedModel& model,
                                                               const RowSample* rows);

/// Randomised quantile residuals, normal if the model is correct: the normal quantile of a random number
/// between P(Y < y) and P(Y <= y), which depends on the row's index in the sample. Empty if the distribution
/// is unknown: for quasi families, counts with prior weights, and trials that are not whole numbers. Source:
/// Dunn and Smyth, J. Comput. Graph. Stat. 5 (1996), 236-244.
[[nodiscard]] std::vector<double> quantile_residuals(const FittedModel& model, const ResponseSample& sample);

/// Observed against fitted proportions, in groups of equal size of rows with similar fitted proportions;
/// intervals of two standard errors around the fitted ones.
[[nodiscard]] Picture proportions(const FittedModel& model, const ResponseSample& sample);

/// Means of Pearson residuals in groups of equal size of rows with similar predictors, with bands of two
/// standard errors of a mean under the model. Source: Gelman and Hill, Data Analysis Using Regression (2007),
/// section 5.6.
[[nodiscard]] Picture binned_residuals(const FittedModel& model, const ResponseSample& sample);

/// A hanging rootogram of counts: bars, the square roots of the number of rows with each count, hang from the
/// expected values; large counts are grouped. For families with a known distribution, with prior weights 1.
/// Source: Kleiber and Zeileis, The American Statistician 70 (2016), 296-303.
[[nodiscard]] Picture rootogram(const FittedModel& model, const ResponseSample& sample);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/fit/row_sample.hpp"
#include "gam/model/model.hpp"
#include "gam/report/figures.hpp"

#include <cstddef>
#include <optional>
#include <vector>

/// Plots for counts and proportions. Their individual residuals lie on a few curves, so that plots of these
/// show little.
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

/// The responses of a discrete family. They are taken from `rows`; if that is null, they are computed from
/// the residuals of the outline, which determine whole-number responses with prior weight 1. Empty in other
/// cases.
[[nodiscard]] std::optional<ResponseSample> discrete_responses(const FittedModel& model,
                                                               const RowSample* rows);

/// Randomised quantile residuals, which are normal if the model is correct. Each is the normal quantile of a
/// random number between P(Y < y) and P(Y <= y); the random number depends on the row's index in the sample.
/// Empty if the distribution is unknown: for quasi families, counts with prior weights, and trials that are
/// not whole numbers. Source: Dunn and Smyth, J. Comput. Graph. Stat. 5 (1996), 236-244.
[[nodiscard]] std::vector<double> quantile_residuals(const FittedModel& model, const ResponseSample& sample);

/// Observed against fitted proportions. Rows with similar fitted proportions form groups of equal size.
/// Intervals of two standard errors are drawn around the fitted proportions.
[[nodiscard]] Picture proportions(const FittedModel& model, const ResponseSample& sample);

/// Means of Pearson residuals against predictors. Rows with similar predictors form groups of equal size. The
/// band is two standard errors of a group's mean under the model. Source: Gelman and Hill, Data Analysis
/// Using Regression (2007), section 5.6.
[[nodiscard]] Picture binned_residuals(const FittedModel& model, const ResponseSample& sample);

/// A hanging rootogram of counts. For each count, a bar hangs from the square root of the expected number of
/// rows; its length is the square root of the observed number. Large counts are grouped. Only for families
/// with a known distribution, and prior weights 1. Source: Kleiber and Zeileis, The American Statistician 70
/// (2016), 296-303.
[[nodiscard]] Picture rootogram(const FittedModel& model, const ResponseSample& sample);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/fit/row_sample.hpp"
#include "gam/model/model.hpp"
#include "gam/report/figures.hpp"

#include <cstddef>
#include <optional>
#include <vector>

/// Plots of responses that are counts or proportions, whose individual residuals lie on curves and are
/// uninformative.
namespace TESSERA_NAMESPACE::gam {

/// Whether a family's responses are counts, or successes among trials.
[[nodiscard]] bool is_binomial(const Family& family);
[[nodiscard]] bool is_count(const Family& family);

/// Responses of sampled rows and their predictions.
struct ResponseSample {
  std::vector<double> response;
  std::vector<double> predictor;
  std::vector<double> weight;
  std::vector<std::size_t> row{};  ///< its index in the sample; empty: unknown
};

/// The responses of a discrete family: from the rows, or (if null) from the outline, whose residuals
/// determine whole-number responses of prior weight 1. Nothing otherwise.
[[nodiscard]] std::optional<ResponseSample> discrete_responses(const FittedModel& model,
                                                               const RowSample* rows);

/// Randomised quantile residuals, normal if the model is correct: the normal quantile of a number between P(Y
/// < y) and P(Y <= y), drawn by the row's index in the sample. Empty if the distribution is unknown: for
/// quasi families, counts with prior weights, and trials that are not whole numbers. Source: Dunn and Smyth,
/// J. Comput. Graph. Stat. 5 (1996), 236-244.
[[nodiscard]] std::vector<double> quantile_residuals(const FittedModel& model, const ResponseSample& sample);

/// Observed against fitted proportions, in equally large groups of rows with similar fitted ones, with
/// intervals of two standard errors about the latter.
[[nodiscard]] Picture proportions(const FittedModel& model, const ResponseSample& sample);

/// Means of Pearson residuals in equally large groups of rows with similar predictors, with two standard
/// errors of a mean under the model. Source: Gelman and Hill, Data Analysis Using Regression (2007), section
/// 5.6.
[[nodiscard]] Picture binned_residuals(const FittedModel& model, const ResponseSample& sample);

/// A hanging rootogram of counts: square roots of the numbers of rows with each count hang from the expected
/// ones; large counts are grouped. For a family with a known distribution, and prior weights of 1. Source:
/// Kleiber and Zeileis, The American Statistician 70 (2016), 296-303.
[[nodiscard]] Picture rootogram(const FittedModel& model, const ResponseSample& sample);

}  // namespace TESSERA_NAMESPACE::gam

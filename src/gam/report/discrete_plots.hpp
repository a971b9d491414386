// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/fit/row_sample.hpp"
#include "gam/model/model.hpp"
#include "gam/report/figures.hpp"

#include <cstddef>
#include <optional>
#include <vector>

/// Pictures of responses that are counts or proportions, of which single residuals lie on curves and tell
/// little.
namespace TESSERA_NAMESPACE::gam {

/// Whether a family's responses are counts, or successes among trials.
[[nodiscard]] bool is_binomial(const Family& family);
[[nodiscard]] bool is_count(const Family& family);

/// Responses of sampled rows and what the model predicts of them.
struct ResponseSample {
  std::vector<double> response;
  std::vector<double> predictor;
  std::vector<double> weight;
  std::vector<std::size_t> row{};  ///< its place among the sampled ones; empty: they are not known
};

/// Those of a discrete family: of the rows, or without them (null) of the outline, whose residuals tell the
/// responses where these are whole and prior weights 1. Nothing where they do not.
[[nodiscard]] std::optional<ResponseSample> discrete_responses(const FittedModel& model,
                                                               const RowSample* rows);

/// Randomised quantile residuals, normal if the model is true: the normal quantile of a number between
/// P(Y < y) and P(Y <= y), which is drawn by the row's place in the sample. Empty where the distribution is
/// not known: of quasi families, counts with prior weights, and trials that are not whole. Source: Dunn and
/// Smyth, J. Comput. Graph. Stat. 5 (1996), 236-244.
[[nodiscard]] std::vector<double> quantile_residuals(const FittedModel& model, const ResponseSample& sample);

/// Observed against fitted proportions, in groups of as many rows of similar fitted ones, with intervals of
/// two standard errors about the latter.
[[nodiscard]] Picture proportions(const FittedModel& model, const ResponseSample& sample);

/// Means of Pearson residuals in groups of as many rows of similar predictors, with two standard errors of a
/// mean if the model is true. Source: Gelman and Hill, Data Analysis Using Regression (2007), section 5.6.
[[nodiscard]] Picture binned_residuals(const FittedModel& model, const ResponseSample& sample);

/// A hanging rootogram of counts: square roots of the numbers of rows with each count hang from those that
/// the model expects; counts in groups if they are large. Of a family with a known distribution, and prior
/// weights of 1. Source: Kleiber and Zeileis, The American Statistician 70 (2016), 296-303.
[[nodiscard]] Picture rootogram(const FittedModel& model, const ResponseSample& sample);

}  // namespace TESSERA_NAMESPACE::gam

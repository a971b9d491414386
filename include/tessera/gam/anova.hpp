// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/model.hpp>

#include <limits>
#include <span>
#include <string>
#include <vector>

/// Tests of a model's terms, and comparisons of models, like mgcv's `anova.gam`, `logLik.gam` and `AIC`.
/// These functions take complete models, as on rank 0 after a fit; they are pure and not collective.
namespace TESSERA_NAMESPACE::gam {

/// The test of a model's term against zero.
struct TermTest {
  std::string label;
  /// For a parametric term its number of columns; for a smooth the reference degrees of freedom.
  double df = 0;
  double edf = std::numeric_limits<double>::quiet_NaN();  ///< effective degrees of freedom of a smooth
  double statistic = 0;  ///< F statistic if the scale is estimated, else chi-squared; NaN, like the other
                         ///< numbers: not tested
  double p_value = 0;
};

struct TermAnova {
  std::vector<TermTest> parametric;  ///< tests of the formula's terms, without the intercept
  std::vector<TermTest> smooths;     ///< tests of the smooths, as in the summary
};

/// Tests each term of a model: a parametric term by a Wald test of all its coefficients, a smooth as in the
/// summary.
[[nodiscard]] TESSERA_EXPORT TermAnova anova(const Model& model);

/// Statistics for comparing models. NaN: unknown.
struct ModelFigures {
  double edf1 = 0;  ///< total effective degrees of freedom by 2F - FF
  /// Total effective degrees of freedom, corrected for the uncertainty of the smoothing parameters; at most
  /// `edf1`. Unknown if a random effect is too large to be tested.
  double edf2 = 0;
  double residual_df = 0;        ///< n - edf1 - (edf2 - edf)
  double log_likelihood = 0;     ///< NaN for a family without a likelihood
  double log_likelihood_df = 0;  ///< edf2 + the number of other estimated parameters (scale, family)
  double aic = 0;                ///< AIC from the two numbers above: R's `AIC(m)`
  double plain_aic = 0;          ///< AIC with edf in place of edf2: mgcv's `m$aic`
};

[[nodiscard]] TESSERA_EXPORT ModelFigures figures_of(const Model& model);

enum class DevianceTest { none, f, chi_squared };

/// A model in a table of several, and its differences from the previous one.
struct DevianceRow {
  double residual_df = 0;
  double residual_deviance = 0;  ///< for families with parameters: -2 log likelihood, times the scale
  double df = std::numeric_limits<double>::quiet_NaN();
  double deviance = std::numeric_limits<double>::quiet_NaN();
  double statistic = std::numeric_limits<double>::quiet_NaN();  ///< F statistic
  double p_value = std::numeric_limits<double>::quiet_NaN();
};

struct DevianceTable {
  std::vector<DevianceRow> rows;      ///< one per model
  std::vector<ModelFigures> figures;  ///< one per model
  DevianceTest test = DevianceTest::none;
};

/// The analysis of deviance of several models, with the scale of the model with the fewest residual degrees
/// of freedom. As in `anova.gam`, families with parameters have a chi-squared test whatever is requested.
/// Throws `Error(input)` if the models' complete rows differ (their number or responses), or if a model is of
/// an earlier version, which does not record them; `Error(usage)` for fewer than two models.
[[nodiscard]] TESSERA_EXPORT DevianceTable anova(std::span<const Model> models, DevianceTest test);

}  // namespace TESSERA_NAMESPACE::gam

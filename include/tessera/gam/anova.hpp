// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/model.hpp>

#include <limits>
#include <span>
#include <string>
#include <vector>

/// Tests of a model's terms, and comparisons of models, like mgcv's `anova.gam`, `logLik.gam` and `AIC`.
/// These functions take complete models, such as that of rank 0 after a fit. They are pure and not
/// collective.
namespace TESSERA_NAMESPACE::gam {

/// The test of a model's term against zero.
struct TermTest {
  std::string label;
  /// For a parametric term, the rank of the covariance of its coefficients; for a smooth, the reference
  /// degrees of freedom.
  double df = 0;
  double edf = std::numeric_limits<double>::quiet_NaN();  ///< effective degrees of freedom of a smooth
  /// F statistic if the scale is estimated, else chi-squared; NaN, as is `p_value`, if not tested.
  double statistic = 0;
  double p_value = 0;
};

struct TermAnova {
  std::vector<TermTest> parametric;  ///< tests of the parametric terms, without the intercept
  std::vector<TermTest> smooths;     ///< tests of the smooths, as in the summary
};

/// Tests each term of a model: a parametric term by a Wald test of all its coefficients, a smooth by the test
/// of the summary. Throws `Error(usage)` for a model without covariances.
[[nodiscard]] TESSERA_EXPORT TermAnova anova(const Model& model);

/// Statistics for comparing models. NaN: unknown.
struct ModelFigures {
  double edf1 = 0;  ///< total effective degrees of freedom, tr(2F - FF) with F = (X'WX + S)^-1 X'WX
  /// Total effective degrees of freedom, corrected for the uncertainty of the smoothing parameters; at most
  /// `edf1`. Unknown if a random effect is too large to be tested.
  double edf2 = 0;
  double residual_df = 0;        ///< n - edf1 - (edf2 - edf)
  double log_likelihood = 0;     ///< NaN for a family without a likelihood
  double log_likelihood_df = 0;  ///< edf2 plus the number of estimated parameters of scale and family
  double aic = 0;                ///< AIC from the two preceding members: R's `AIC(m)`
  double plain_aic = 0;          ///< AIC with edf in place of edf2: mgcv's `m$aic`
};

[[nodiscard]] TESSERA_EXPORT ModelFigures figures_of(const Model& model);

enum class DevianceTest { none, f, chi_squared };

/// A row of the table: a model, and its differences from the previous model.
struct DevianceRow {
  double residual_df = 0;
  double residual_deviance = 0;  ///< for families with parameters: -2 scale times the log likelihood
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
/// of freedom. As in `anova.gam`, families with parameters get a chi-squared test also if `test` is `f`.
/// Throws `Error(input)` if the number or the responses of the complete rows differ between models, or if a
/// model is of an earlier version, which does not record the responses; `Error(usage)` for fewer than two
/// models.
[[nodiscard]] TESSERA_EXPORT DevianceTable anova(std::span<const Model> models, DevianceTest test);

}  // namespace TESSERA_NAMESPACE::gam

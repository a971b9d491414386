// SPDX-License-Identifier: Apache-2.0
#include "base/at.hpp"
#include "base/errors.hpp"
#include "gam/inference/distributions.hpp"
#include "gam/inference/term_tests.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"
#include "gam/linalg/whole_inverse.hpp"
#include "gam/model/covariance.hpp"
#include "gam/model/model.hpp"
#include "gam/predict/prediction_plan.hpp"

#include <tessera/gam/anova.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// P(F > f). If the scale is known, the residual degrees of freedom are infinite.
double tail_of_ratio(double f, double df, double residual_df) {
  return std::isinf(residual_df) ? chi_squared_tail(f * df, df) : f_tail(f, df, residual_df);
}

/// The number of estimated parameters that mgcv counts in addition to the scale (`n.theta`).
int estimated_parameters(const Family& family) {
  int count = 0;
  for (std::size_t i = 0; i < family.parameter_count(); ++i) count += family.estimates(i) ? 1 : 0;
  // If the scale is one of the parameters, excludes it: mgcv counts the scale separately.
  return count - (count > 0 && !family.scale_is_known() ? 1 : 0);
}

std::string name_of(const FittedModel& model, std::size_t index) {
  return model.path.empty() ? fmt::format("model {}", index + 1) : model.path;
}

void require_same_rows(std::span<const Model> models) {
  const FittedModel& first = models[0].fitted();
  for (std::size_t i = 0; i < models.size(); ++i) {
    const FittedModel& model = models[i].fitted();
    if (model.response_fingerprint.empty() || std::isnan(model.edf1_total))
      throw base::input_error(
          "{}: the model has no fingerprint of its rows, because an earlier version of tessera-fit wrote it: "
          "fit the model again",
          name_of(model, i));
    if (model.rows != first.rows)
      throw base::input_error(
          "{}: the model has {} complete rows, but {} has {}: compare models that are fitted to the same "
          "rows",
          name_of(model, i), model.rows, name_of(first, 0), first.rows);
    if (model.response_fingerprint != first.response_fingerprint)
      throw base::input_error(
          "{}: the values or rows of the response differ from the response of {}: compare models that are "
          "fitted to the same rows",
          name_of(model, i), name_of(first, 0));
  }
}

}  // namespace

TermAnova anova(const Model& model) {
  const FittedModel& fitted = model.fitted();
  require_covariance(fitted, "tests of terms");
  const bool estimated = !fitted.family.scale_is_known();
  TermAnova out;
  for (const ModelTerm& term : terms_of(fitted, parse_terms(fitted.formula))) {
    if (term.smooth || fitted.design.blocks[at(term.blocks.front())].variables.empty()) continue;
    std::vector<int> places;
    std::vector<double> coef;
    for (const int b : term.blocks) {
      const CoefBlock& block = fitted.design.blocks[at(b)];
      for (int i = block.coef_begin; i < block.coef_begin + block.coef_size; ++i) {
        places.push_back(fitted.covariance.in_core(i));
        coef.push_back(fitted.coef[at(i)]);
      }
    }
    // Skips a term whose columns were all dropped.
    if (places.empty()) continue;
    const JointTest test = test_jointly(submatrix(fitted.covariance.core, places, places), coef, estimated,
                                        fitted.residual_df());
    out.parametric.push_back(
        {term.label, static_cast<double>(test.rank), unknown, test.statistic, test.p_value});
  }
  for (const SmoothTest& test : fitted.smooth_tests)
    out.smooths.push_back({test.label, test.reference_df, test.edf, test.statistic, test.p_value});
  return out;
}

ModelFigures figures_of(const Model& model) {
  const FittedModel& fitted = model.fitted();
  ModelFigures out;
  out.edf1 = fitted.edf1_total;
  out.edf2 = fitted.why_no_covariance.empty() && WholeInverse::follows_from(fitted.covariance)
                 ? fitted.edf_total + fitted.smoothing_uncertainty().edf
                 : unknown;
  if (out.edf2 > out.edf1) out.edf2 = out.edf1;
  const double edf = std::isnan(out.edf2) ? fitted.edf_total : out.edf2;
  out.residual_df = static_cast<double>(fitted.rows) - out.edf1 - (edf - fitted.edf_total);
  const int scale = fitted.family.scale_is_known() ? 0 : 1;
  out.plain_aic = fitted.aic;
  out.log_likelihood = fitted.edf_total + scale - fitted.aic / 2;
  out.log_likelihood_df =
      std::min(edf, static_cast<double>(fitted.coef.size())) + scale + estimated_parameters(fitted.family);
  out.aic = 2 * (out.log_likelihood_df - out.log_likelihood);
  return out;
}

DevianceTable anova(std::span<const Model> models, DevianceTest test) {
  if (models.size() < 2)
    throw base::usage_error("an analysis of deviance compares models: give at least two");
  require_same_rows(models);
  DevianceTable out{{}, {}, test};
  const bool by_likelihood = models[0].fitted().family.parameter_count() > 0;
  if (by_likelihood && test != DevianceTest::none) out.test = DevianceTest::chi_squared;
  std::size_t largest = 0;
  for (const Model& model : models) {
    const ModelFigures& figures = out.figures.emplace_back(figures_of(model));
    const bool has_parameters = model.fitted().family.parameter_count() > 0;
    double deviance = has_parameters ? -2 * figures.log_likelihood : model.deviance();
    if (by_likelihood) deviance *= models[0].scale();
    out.rows.push_back({figures.residual_df, deviance});
    if (figures.residual_df < out.rows[largest].residual_df) largest = out.rows.size() - 1;
  }
  const bool scale_is_known = models[largest].scale() == 1;
  for (std::size_t i = 1; i < out.rows.size(); ++i) {
    DevianceRow& row = out.rows[i];
    row.df = out.rows[i - 1].residual_df - row.residual_df;
    row.deviance = out.rows[i - 1].residual_deviance - row.residual_deviance;
    const double ratio = row.deviance / row.df / models[largest].scale();
    if (out.test == DevianceTest::none || !(ratio >= 0)) continue;
    const double df = std::abs(row.df);
    if (out.test == DevianceTest::chi_squared) {
      row.p_value = chi_squared_tail(ratio * df, df);
      continue;
    }
    row.statistic = ratio;
    row.p_value = tail_of_ratio(
        ratio, df, scale_is_known ? std::numeric_limits<double>::infinity() : out.rows[largest].residual_df);
  }
  return out;
}

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/frame.hpp"
#include "gam/formula/formula.hpp"
#include "gam/model/model.hpp"
#include "gam/rows/prediction.hpp"

#include <tessera/gam/predict.hpp>

#include <string>
#include <utility>
#include <vector>

/// Prediction options resolved against a model.
namespace TESSERA_NAMESPACE::gam {

/// A term in the sense of `predict.gam`: a parametric term of the formula or a smooth. A smooth by a factor
/// is one term for each level.
struct ModelTerm {
  std::string label;        ///< as R prints it: "(Intercept)", "poly(x, 2)", "s(x):facL1"
  std::vector<int> blocks;  ///< its blocks of the design
  bool smooth = false;
};

/// The terms of a model in mgcv's order: the intercept if any, the terms of R's formula, the smooths.
[[nodiscard]] std::vector<ModelTerm> terms_of(const FittedModel& model, const FormulaTerms& formula);

/// The part of a model that a prediction uses, and its output for a row.
struct PredictionPlan {
  /// The requested terms only; variables of others are not read. Coefficient indices are unchanged.
  Design design;
  Posterior posterior;
  bool terms = false;              ///< a column of output per term; CPU only
  bool design_rows = false;        ///< the rows of the model matrix; CPU only
  bool offsets = false;            ///< includes the formula's offsets
  std::vector<std::string> names;  ///< names of terms, or of coefficients; else empty
  double constant = 0;             ///< the intercept, if no column contains it
  /// For each variable, the columns of output that are NaN in a row with an unseen level of it.
  std::vector<std::pair<std::string, std::vector<int>>> nan_at_unseen_levels;
  /// Variables with unseen levels allowed in predicted rows.
  std::vector<std::string> unseen_is_complete;
};

/// Throws `Error(usage)` for a number that is neither a probability nor 0, no interval.
void require_probability(double probability);

[[nodiscard]] bool needs_covariance(const PredictOptions& options);

/// Throws `Error(usage)` for a term that the model lacks, and for output that its covariance does not
/// support. The model is as on rank 0 after a fit.
[[nodiscard]] PredictionPlan plan_of(const FittedModel& model, const FormulaTerms& formula,
                                     const PredictOptions& options);

}  // namespace TESSERA_NAMESPACE::gam

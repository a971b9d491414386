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

namespace TESSERA_NAMESPACE::gam {

/// A term as in `predict.gam`: a parametric term of the formula, or a smooth. A smooth by a factor is one
/// term per level.
struct ModelTerm {
  std::string label;        ///< R's label: "(Intercept)", "poly(x, 2)", "s(x):facL1"
  std::vector<int> blocks;  ///< indices of the term's blocks in the design
  bool smooth = false;
};

/// The terms of a model in mgcv's order: the intercept, if any, the terms of R's formula, the smooths.
[[nodiscard]] std::vector<ModelTerm> terms_of(const FittedModel& model, const FormulaTerms& formula);

/// The part of a model that a prediction uses, and what it outputs for a row.
struct PredictionPlan {
  /// The design with only the requested terms. Coefficient indices are unchanged; variables of other terms
  /// are not read.
  Design design;
  Posterior posterior;
  bool terms = false;        ///< whether there is an output column per term; CPU only
  bool design_rows = false;  ///< whether the output is the rows of the model matrix; CPU only
  bool offsets = false;
  /// Names of terms or of coefficients. For several linear predictors or classes, suffixes of column names.
  /// Otherwise empty.
  std::vector<std::string> names;
  double constant = 0;  ///< the intercept, if no column contains it
  /// By variable: the output columns that are NaN in a row with an unseen level of the variable.
  std::vector<std::pair<std::string, std::vector<int>>> nan_at_unseen_levels;
  /// Coefficients of a predictor that is 1 in rows at minus infinity, and 0 in all other rows; empty: no row
  /// is at minus infinity.
  std::vector<double> absent_rows;
  /// By term column: indices of the term's coefficients that belong to curves at minus infinity.
  std::vector<std::vector<int>> absent_of_term;
  /// Variables whose unseen levels are allowed in predicted rows.
  std::vector<std::string> unseen_is_complete;
};

/// Throws `Error(usage)` unless `probability` is in [0, 1); 0 means no interval.
void require_probability(double probability);

[[nodiscard]] bool needs_covariance(const PredictOptions& options);

/// Throws `Error(usage)` for a term that the model lacks, and for output that the model's covariance does not
/// allow. The model must be complete, as on rank 0 after a fit.
[[nodiscard]] PredictionPlan plan_of(const FittedModel& model, const FormulaTerms& formula,
                                     const PredictOptions& options);

}  // namespace TESSERA_NAMESPACE::gam

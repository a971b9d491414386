// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/formula/formula.hpp"
#include "gam/model/model.hpp"
#include "gam/rows/prediction.hpp"
#include "gam/table/frame/frame.hpp"

#include <tessera/gam/predict.hpp>

#include <string>
#include <utility>
#include <vector>

/// What is asked of each row of a table.
namespace TESSERA_NAMESPACE::gam {

/// A term as `predict.gam` has it: what a parametric term of the formula or a smooth is made of. A smooth by
/// a factor is one for each level.
struct ModelTerm {
  std::string label;        ///< as R prints it: "(Intercept)", "poly(x, 2)", "s(x):facL1"
  std::vector<int> blocks;  ///< of the design
  bool smooth = false;
};

/// The terms of a model in mgcv's order: the intercept, if there is one, those of R's formula, the smooths.
[[nodiscard]] std::vector<ModelTerm> terms_of(const FittedModel& model, const FormulaTerms& formula);

/// What a prediction takes of a model, and makes of a row.
struct PredictionPlan {
  /// The terms that are asked for; those left out are read from no table. Coefficients keep their places.
  Design design;
  Posterior posterior;
  bool terms = false;              ///< by terms, on hosts
  bool design_rows = false;        ///< the rows of the model matrix, on hosts
  bool offsets = false;            ///< the formula's offsets are part of it
  std::vector<std::string> names;  ///< of terms, or of coefficients; else empty
  double constant = 0;             ///< the intercept, where it is in no column
  /// The variables of the columns of `names` for whose unseen levels the column is NaN.
  std::vector<std::pair<std::string, std::vector<int>>> without_unseen;
  /// Variables for whose unseen levels a row has predictions.
  std::vector<std::string> unseen_is_complete;
};

/// Throws `Error(usage)` for what is no probability of an interval, nor 0, none.
void require_probability(double probability);

/// Whether the covariance of the coefficients is needed.
[[nodiscard]] bool needs_covariance(const PredictOptions& options);

/// Throws `Error(usage)` for a term that the model lacks, and for what its covariance does not tell. The
/// model has what rank 0 has after a fit.
[[nodiscard]] PredictionPlan plan_of(const FittedModel& model, const FormulaTerms& formula,
                                     const PredictOptions& options);

}  // namespace TESSERA_NAMESPACE::gam

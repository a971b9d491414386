// SPDX-License-Identifier: Apache-2.0
#include "gam/many/shared_model.hpp"

#include "base/at.hpp"
#include "gam/family/family.hpp"

#include <algorithm>
#include <limits>

namespace TESSERA_NAMESPACE::gam {

FittedModel shared_model(const SharedDesign& design, const FormulaTerms& formula,
                         const ManyOptions& options) {
  FittedModel model;
  model.formula = formula.text;
  model.family = options.family.definition();
  model.weights = options.weights;
  model.rows = design.rows;
  model.rows_dropped = design.table_rows - design.rows;
  model.response = {formula.response.text, "number", {}};
  model.smoothing_options.knots = options.knots;
  model.design = design.design;
  model.units = design.units;
  model.recipe = design.recipe;
  model.coef.assign(base::at(design.design.coef_size), 0);
  model.edf = model.coef;
  model.covariance = Matrix(design.design.coef_size, design.design.coef_size);
  // Bounds the logarithm of a smoothing parameter of 0.
  constexpr double least = -700;
  for (const SharedPenalty& penalty : design.penalties)
    model.log_sp.push_back(penalty.parameter < 0 ? std::max(penalty.offset, least) : 0);
  for (const CoefBlock& block : model.design.blocks) {
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    if (block.penalty) model.smooth_tests.push_back({block.label, 0, none, none, none});
  }
  model.column_means = design.column_means;
  model.outline.summaries = design.summaries;
  model.outline.curves = design.curves;
  model.outline.undetermined = design.undetermined;
  return model;
}

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/fit_request.hpp"

#include "base/at.hpp"
#include "base/errors.hpp"
#include "gam/design/design.hpp"
#include "gam/fit/pirls/prepare_rows.hpp"

#include <algorithm>
#include <string>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// The parametric term that summaries call `name`: "z", or "z.1" in the second predictor.
ParametricTerm& penalised_term(FormulaTerms& formula, const std::string& name) {
  for (int p = 0; p < formula.predictors(); ++p) {
    for (ParametricTerm& term : (p == 0 ? formula : formula.further[base::at(p) - 1]).parametric) {
      if (name == name_in_predictor(term.label, false, p)) return term;
    }
  }
  throw base::usage_error("para-pen: the formula has no parametric term '{}': correct the name", name);
}

}  // namespace

FrameRequest request_of_fit(const FormulaTerms& formula, const FitOptions& options,
                            const TableOptions& table) {
  FrameRequest request;
  request.options = table;
  request.memory = options.memory;
  request.variables = formula.variables();
  request.numeric = formula.numeric_variables();
  if (options.family.definition().classes() == 0 || formula.trials)
    request.numeric.push_back(formula.response.text);
  if (formula.limit) {
    request.numeric.push_back(formula.limit->text);
    request.unbounded.push_back(formula.limit->text);
  }
  if (const auto weights = prior_weights(formula, options)) {
    request.variables.push_back(*weights);
    request.numeric.push_back(weights->text);
  }
  if (!options.ar_start.empty()) request.variables.push_back(option_expression(options.ar_start));
  if (!options.subset.empty()) request.subset = option_expression(options.subset);
  request.keeps_unused_levels = !options.drop_unused_levels;
  for (const auto& [column, levels] : options.levels) {
    if (options.ordered.contains(column))
      throw base::usage_error("'{}' is given both as an ordered factor and in levels: remove one of the two",
                              column);
    request.given_levels.push_back({column, levels, false});
  }
  for (const auto& [column, levels] : options.ordered) request.given_levels.push_back({column, levels, true});
  return request;
}

FormulaTerms with_options(FormulaTerms formula, const FitOptions& options) {
  if (options.family.definition().is_censored()) formula = with_limits(std::move(formula));
  if (!options.offset.empty()) formula.offsets.push_back(option_expression(options.offset));
  const auto select = [&, predictors = formula.predictors()](FormulaTerms& one) {
    for (SmoothSpec& smooth : one.smooths) {
      smooth.select = options.select;
      smooth.drops_column = predictors == 1;
    }
  };
  select(formula);
  std::ranges::for_each(formula.further, select);
  for (const auto& [name, penalty] : options.para_pen) penalised_term(formula, name).penalty = penalty;
  return formula;
}

}  // namespace TESSERA_NAMESPACE::gam

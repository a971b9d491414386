// SPDX-License-Identifier: Apache-2.0
#include "gam/many/many_setup.hpp"

#include "base/did_you_mean.hpp"
#include "base/errors.hpp"
#include "gam/family/family.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace TESSERA_NAMESPACE::gam {

namespace {

FormulaTerms terms_without_response(const std::string& formula) {
  const auto first = formula.find_first_not_of(" \t\n");
  if (first == std::string::npos)
    throw base::usage_error("the formula is empty: write its terms, such as s(t)");
  const std::size_t begin = formula[first] == '~' ? first + 1 : 0;
  const std::string response = "`(response)` ~ ";
  try {
    return parse_terms(response + formula.substr(begin));
  } catch (const FormulaError& refused) {
    std::vector<FormulaError::Refusal> refusals = refused.refusals();
    for (FormulaError::Refusal& one : refusals) one.position = one.position + begin - response.size();
    throw FormulaError(std::move(refusals));
  }
}

/// Replaces k of each univariate smooth.
FormulaTerms with_basis_size(FormulaTerms formula, int k) {
  bool found = false;
  for (SmoothSpec& smooth : formula.smooths) {
    MarginSpec& margin = smooth.margins.front();
    if (smooth.tensor || smooth.factor_smooth || !margin.others.empty() || margin.basis == "re" ||
        margin.basis == "mrf")
      continue;
    margin.k = k;
    found = true;
  }
  if (!found)
    throw base::usage_error("the formula has no smooth of one numeric variable: add a smooth, such as s(t)");
  return formula;
}

}  // namespace

FormulaTerms terms_of_many(const std::string& formula, const ManyOptions& options) {
  FormulaTerms terms = terms_without_response(formula);
  return options.basis_size == 0 ? terms : with_basis_size(std::move(terms), options.basis_size);
}

FormulaTerms without_term(const FormulaTerms& formula, const std::string& label) {
  FormulaTerms rest = formula;
  rest.model_frame = formula.variables();
  const auto is_term = [&](const auto& term) { return term.label == label; };
  if (std::erase_if(rest.smooths, is_term) + std::erase_if(rest.parametric, is_term) > 0) return rest;
  std::vector<std::string> labels;
  for (const ParametricTerm& term : formula.parametric) labels.push_back(term.label);
  for (const SmoothSpec& smooth : formula.smooths) labels.push_back(smooth.label);
  throw base::usage_error("drop: the formula has no term '{}'{}", label, base::names_like(labels, label));
}

SharedDesignRequest design_request(const FormulaTerms& formula, const ManyOptions& options) {
  return {.formula = formula,
          .weights = options.weights,
          .knots = options.knots,
          .with_spectrum = options.family.definition().name() == "gaussian"};
}

ManyEstimator estimator_of(const ManyOptions& options, std::int64_t rows) {
  const Family& family = options.family.definition();
  ManyEstimator estimator;
  if (family.name() == "nb")
    estimator.family = ManyFamily::nb;
  else if (family.name() == "poisson" || family.name() == "quasipoisson")
    estimator.family = ManyFamily::poisson;
  else if (family.name() == "binomial" || family.name() == "quasibinomial")
    estimator.family = ManyFamily::binomial;
  else if (family.name() == "gaussian")
    estimator.family = ManyFamily::gaussian;
  else if (family.name() == "Gamma")
    estimator.family = ManyFamily::gamma;
  else
    throw base::usage_error(
        "fits of many responses support the families nb, poisson, binomial, gaussian, gamma, quasipoisson "
        "and quasibinomial, not {}: fit each response separately",
        family.name());
  estimator.quasi = family.name().starts_with("quasi");
  if (family.link() != 0)
    throw base::usage_error(
        "fits of many responses support only the default link of {}, not {}: leave the link out",
        family.name(), family.link_name());
  if (estimator.family == ManyFamily::nb && !family.estimates_parameters())
    estimator.theta = family.parameters()[0];
  if (!(options.min_share >= 0 && options.min_share <= 1))
    throw base::usage_error("min-share is {}: give a share between 0 and 1", options.min_share);
  estimator.least_rows =
      std::max(options.min_rows, static_cast<int>(std::ceil(options.min_share * static_cast<double>(rows))));
  return estimator;
}

}  // namespace TESSERA_NAMESPACE::gam

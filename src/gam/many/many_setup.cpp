// SPDX-License-Identifier: Apache-2.0
#include "gam/many/many_setup.hpp"

#include "base/errors.hpp"
#include "gam/family/family.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace TESSERA_NAMESPACE::gam {

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
        "and quasibinomial, not {}: fit each response by itself",
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

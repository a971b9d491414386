// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/frame.hpp"
#include "gam/design/design.hpp"
#include "gam/formula/formula.hpp"

#include <optional>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The columns of one parametric term: X = R map, where R has the full indicators of `components`.
struct ParametricColumns {
  std::string label;
  std::vector<Component> components;  ///< reversed, so that the first variable varies fastest
  Matrix map;                         ///< selects columns of R
  std::vector<std::string> names;  ///< R's names of the columns: "(Intercept)", "cutGood", "x:fB", "aA2:bB2"
  std::vector<std::string> variables;
  std::optional<ParametricPenalty> penalty{};
};

/// For each variable of each parametric term, whether it would be coded by contrasts if it were a factor, by
/// the rule of `parametric_columns`.
[[nodiscard]] std::vector<std::vector<bool>> coded_by_contrasts(const FormulaTerms& formula,
                                                                const Frame& frame);

/// Codes the parametric part as R's model.matrix does, by treatment contrasts (dummies): a factor of a term
/// loses its first level if the term without that factor is contained in an earlier term (or is empty), and
/// keeps all levels otherwise. Without an intercept the first factor of the model keeps all its levels.
///
/// Throws `Error(input)` for a factor of fewer than two levels.
/// Source: Chambers and Hastie, Statistical Models in S (1992), sec. 2.4.1; R's TermCode.
[[nodiscard]] std::vector<ParametricColumns> parametric_columns(const FormulaTerms& formula,
                                                                const Frame& frame);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/formula/formula.hpp"
#include "gam/table/frame/frame.hpp"
#include "gam/table/frame/workers.hpp"

namespace TESSERA_NAMESPACE::gam {

/// The formula in terms of numbers and of factors with treatment contrasts, once the types of its variables
/// are known: an ordered factor in a term with contrasts is its orthogonal polynomials, dose.L, dose.Q, … The
/// frame gets such variables, and its recipe what predictions make them of. Throws `Error(input)` for an
/// ordered factor of more levels than polynomials can tell (95, as in R).
[[nodiscard]] FormulaTerms model_terms(const Workers& workers, const FormulaTerms& formula, Frame& frame);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/frame.hpp"
#include "gam/data/frame/workers.hpp"
#include "gam/formula/formula.hpp"

namespace TESSERA_NAMESPACE::gam {

/// Rewrites the formula as terms in numbers and factors with treatment contrasts, once the types of its
/// variables are known. An ordered factor in a term with contrasts becomes its orthogonal polynomials,
/// dose.L, dose.Q, … These polynomials are added to the frame, and to the frame's recipe for predictions.
/// Throws `Error(input)` for an ordered factor with more than 95 levels, the limit of R.
[[nodiscard]] FormulaTerms model_terms(const Workers& workers, const FormulaTerms& formula, Frame& frame);

}  // namespace TESSERA_NAMESPACE::gam

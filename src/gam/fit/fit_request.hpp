// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/formula/formula.hpp"
#include "gam/table/frame/frame.hpp"

#include <tessera/gam/fit.hpp>

namespace TESSERA_NAMESPACE::gam {

/// The columns that a fit reads: the formula's variables, and the weights. Smooths other than re, offsets,
/// weights and a response that is not binomial require numbers; any other text column is a factor.
[[nodiscard]] FrameRequest request_of_fit(const FormulaTerms& formula, const FitOptions& options,
                                          const TableOptions& table);

/// The formula with what the options add to it, which a model's text of it does not have: the offset, which
/// predictions have no part of, and select.
[[nodiscard]] FormulaTerms with_options(FormulaTerms formula, const FitOptions& options);

}  // namespace TESSERA_NAMESPACE::gam

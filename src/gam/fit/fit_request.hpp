// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/frame.hpp"
#include "gam/formula/formula.hpp"

#include <tessera/gam/fit.hpp>

namespace TESSERA_NAMESPACE::gam {

/// The columns that a fit reads: the formula's variables, and the weights. Smooths other than re, offsets,
/// weights and a response that is not binomial require numbers; any other text column is a factor.
[[nodiscard]] FrameRequest request_of_fit(const FormulaTerms& formula, const FitOptions& options,
                                          const TableOptions& table);

/// The formula with the options that add to it but are not in the model's text of it: the offset, which
/// predictions ignore, and select.
[[nodiscard]] FormulaTerms with_options(FormulaTerms formula, const FitOptions& options);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/frame.hpp"
#include "gam/formula/formula.hpp"

#include <tessera/gam/fit.hpp>

namespace TESSERA_NAMESPACE::gam {

/// The columns that a fit reads: the formula's variables, weights, `ar_start`. Smooths (except re), offsets,
/// weights and non-binomial responses require numbers; any other text column becomes a factor.
[[nodiscard]] FrameRequest request_of_fit(const FormulaTerms& formula, const FitOptions& options,
                                          const TableOptions& table);

/// The formula with the options that add to it without appearing in its text: the offset (predictions ignore
/// it), `select`, and the penalties of parametric terms.
[[nodiscard]] FormulaTerms with_options(FormulaTerms formula, const FitOptions& options);

}  // namespace TESSERA_NAMESPACE::gam

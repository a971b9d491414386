// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/workers.hpp"
#include "gam/formula/formula.hpp"
#include "gam/rows/row_pass.hpp"

#include <tessera/gam/fit.hpp>
#include <tessera/mpi/communicator.hpp>

#include <optional>

namespace TESSERA_NAMESPACE::gam {

/// Whether the fit has a given or estimated correlation of neighbouring residuals.
[[nodiscard]] bool has_correlated_residuals(const FitOptions& options);
/// Throws `Error(usage)` for an invalid correlation, for an estimated one in a family that does not allow it,
/// or for series without correlation. Pure.
void check_correlation(const FitOptions& options);

/// The prior weights: the weights of the options, times the trials of a response by cbind(). Empty: all are
/// 1. Throws `Error(usage)` like `option_expression`.
[[nodiscard]] std::optional<Expression> prior_weights(const FormulaTerms& formula, const FitOptions& options);

/// *Collective.* The rows of a fit, except for their design: the response as numbers (the first of two levels
/// of a binomial response is failure, as in R), offsets and weights, the units of the fit, and series of
/// correlated rows. `frame` must outlive them. Throws the same `Error(input)` on every rank for a frame
/// without a complete row, for invalid values of the response, an offset or the weights, and for a response
/// without variation (response_variation.hpp).
[[nodiscard]] Rows prepare_rows(const Workers& workers, Frame& frame, const FormulaTerms& formula,
                                const FitOptions& options);

/// A deviance or scale of 1 in the units of the fit, converted to the user's units.
[[nodiscard]] double deviance_unit(const Rows& rows);

}  // namespace TESSERA_NAMESPACE::gam

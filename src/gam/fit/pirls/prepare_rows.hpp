// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/workers.hpp"
#include "gam/formula/formula.hpp"
#include "gam/rows/row_pass.hpp"

#include <tessera/gam/fit.hpp>
#include <tessera/mpi/communicator.hpp>

#include <optional>

namespace TESSERA_NAMESPACE::gam {

[[nodiscard]] bool has_correlated_residuals(const FitOptions& options);
/// Throws `Error(usage)` for an invalid correlation, for a given or estimated correlation that the family
/// does not allow, or for series without correlation. Pure.
void check_correlation(const FitOptions& options);

/// The prior weights: the weights of the options, times the trials of a response by cbind(). Empty: all are
/// 1. Throws `Error(usage)` like `option_expression`.
[[nodiscard]] std::optional<Expression> prior_weights(const FormulaTerms& formula, const FitOptions& options);

/// *Collective.* The rows of a fit without their design: the response as numbers (the first of two levels of
/// a binomial response is failure, as in R), offsets and weights, the units of the fit, and series of
/// correlated rows. `frame` must outlive the result. Throws the same `Error(input)` on every rank for a frame
/// without a complete row, for invalid values of the response, an offset or the weights, and for a response
/// without variation (response_variation.hpp).
[[nodiscard]] Rows prepare_rows(const Workers& workers, Frame& frame, const FormulaTerms& formula,
                                const FitOptions& options);

/// Factor from the fit's unit of deviance and scale to the user's unit.
[[nodiscard]] double deviance_unit(const Rows& rows);

}  // namespace TESSERA_NAMESPACE::gam

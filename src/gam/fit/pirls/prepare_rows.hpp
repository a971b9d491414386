// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/formula/formula.hpp"
#include "gam/rows/row_pass.hpp"
#include "gam/table/frame/workers.hpp"

#include <tessera/gam/fit.hpp>
#include <tessera/mpi/communicator.hpp>

namespace tessera::gam {

/// *Collective.* The rows of a fit, without their design: the frame's response as numbers (of a binomial
/// response in two levels the first is failure, as in R), offsets and weights, and the units in which the fit
/// computes. `frame` must outlive them. Throws the same `Error(input)` on every rank for a frame without a
/// complete row, a response, an offset or weights that the model cannot have, and a response that leaves
/// nothing to fit (response_check.hpp).
[[nodiscard]] Rows prepare_rows(const Workers& workers, Frame& frame, const FormulaTerms& formula,
                                const FitOptions& options);

/// What a deviance or a scale of 1 in the units of the fit is in the user's.
[[nodiscard]] double deviance_unit(const Rows& rows);

}  // namespace tessera::gam

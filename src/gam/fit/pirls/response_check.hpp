// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/formula/formula.hpp"
#include "gam/rows/row_pass.hpp"
#include "gam/table/frame/workers.hpp"

#include <tessera/mpi/communicator.hpp>

namespace tessera::gam {

/// *Collective.* Throws the same `Error(input)` on every rank if the response leaves nothing to fit: no
/// complete row has a weight above 0, or in all that have one the response is the same, or the same up to the
/// offset. A constant response is fitted where the model has no constant and the family allows for it.
void require_variation(const Workers& workers, const Rows& rows, const FormulaTerms& formula);

}  // namespace tessera::gam

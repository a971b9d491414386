// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/workers.hpp"
#include "gam/formula/formula.hpp"
#include "gam/rows/row_pass.hpp"

#include <tessera/mpi/communicator.hpp>

namespace TESSERA_NAMESPACE::gam {

/// *Collective.* Throws the same `Error(input)` on every rank if no complete row has a positive weight, or if
/// in the rows with positive weight the response is constant, equal to the offset up to a constant, or always
/// below `Family::least_maximum`. A constant response is allowed if the family permits it, and
/// the offset varies or the model has no constant.
void require_variation(const Workers& workers, const Rows& rows, const FormulaTerms& formula);

/// *Collective.* Throws the same `Error(input)` on every rank if a class has no row of positive weight.
void require_all_classes(const Workers& workers, const Rows& rows);

}  // namespace TESSERA_NAMESPACE::gam

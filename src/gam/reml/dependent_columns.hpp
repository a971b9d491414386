// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"
#include "gam/linalg/parted_matrix.hpp"
#include "gam/reml/penalty_basis.hpp"

#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Throws `tessera::Error(input)` if the unpenalised columns are linearly dependent (rank deficient). The
/// error names a term, and the terms that determine it.
///
/// `gram`: X'WX in the coordinates of `bases` (of the design's penalised blocks, in order). A column is
/// dependent if its squared residual, given the pivots before it, is below 1e-13 of its squared norm; R's
/// `lm` uses 1e-14. Cost: O(M_p^3) for M_p unpenalised columns.
void refuse_dependent_columns(const PartedMatrix& gram, const Design& design,
                              const std::vector<BlockBasis>& bases);

}  // namespace TESSERA_NAMESPACE::gam

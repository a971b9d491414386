// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"
#include "gam/linalg/algebra.hpp"
#include "gam/linalg/parted_matrix.hpp"

#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

// Transforms sums over raw columns to sums over coefficients. `M` maps coefficients to raw columns; it is
// block diagonal, so each block is transformed separately.

/// M' (R'WR) M, for raw columns R and weights W.
[[nodiscard]] PartedMatrix gram_in_coefficients(const PartedMatrix& raw_gram, const Design& design,
                                                const Algebra& algebra);

/// M' v.
[[nodiscard]] std::vector<double> to_coefficients(std::span<const double> raw, const Design& design);

}  // namespace TESSERA_NAMESPACE::gam

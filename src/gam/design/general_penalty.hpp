// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/math/elementary.hpp"
#include "gam/design/design.hpp"

#include <cmath>
#include <limits>

namespace TESSERA_NAMESPACE::gam {

/// A penalty's eigenvalues count as zero if they are below this fraction of the largest one, as in mgcv.
inline const double rank_tolerance = base::pow(std::numeric_limits<double>::epsilon(), 0.75);

/// Computes null space and ranks (of a single penalty, eigenvalues) from `matrices`, each `size` x `size`.
void derive_from_matrices(Penalty& penalty, int size);

}  // namespace TESSERA_NAMESPACE::gam

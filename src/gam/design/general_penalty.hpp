// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/math/elementary.hpp"
#include "gam/design/design.hpp"

#include <cmath>
#include <limits>

namespace TESSERA_NAMESPACE::gam {

/// Eigenvalues of a penalty below this fraction of the largest count as zero, as in mgcv.
inline const double rank_tolerance = base::pow(std::numeric_limits<double>::epsilon(), 0.75);

/// Sets ranks and null space of penalties without common eigenvectors.
void derive_from_matrices(Penalty& penalty, int size);

}  // namespace TESSERA_NAMESPACE::gam

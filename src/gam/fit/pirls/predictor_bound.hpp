// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/frame.hpp"
#include "gam/design/design.hpp"

#include <span>

namespace TESSERA_NAMESPACE::gam {

/// An upper bound of |R(row, .) coef|, without offsets, over this rank's complete rows; infinity if the
/// extents of the variables give no bound, e.g. beyond the breaks of a margin and for isotropic smooths. The
/// bound may be two or three orders of magnitude above the maximum. Reads no row.
[[nodiscard]] double predictor_bound(const Frame& frame, const Design& design,
                                     std::span<const double> raw_coef);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"
#include "gam/table/frame/frame.hpp"

#include <span>

namespace TESSERA_NAMESPACE::gam {

/// A number that |R(row, .) coef|, without offsets, exceeds in none of this rank's complete rows; infinity
/// where the extents of the variables tell none, as beyond the breaks of a margin and for functions of
/// distances. It may be larger by two or three orders of magnitude. Looks at no row.
[[nodiscard]] double predictor_bound(const Frame& frame, const Design& design,
                                     std::span<const double> raw_coef);

}  // namespace TESSERA_NAMESPACE::gam

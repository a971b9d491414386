// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/component.hpp"
#include "gam/linalg/matrix.hpp"

#include <span>

/// Cubic B-splines and penalties of differences, of which P-splines are made.
namespace tessera::gam {

/// B-splines over every interval of `all` but the three at each end.
[[nodiscard]] Margin bspline_margin(std::span<const double> all, bool uniform);

/// D'D of the differences over neighbouring coefficients; cyclic ones go round.
[[nodiscard]] Matrix difference_penalty(int size, int order, bool cyclic);

}  // namespace tessera::gam

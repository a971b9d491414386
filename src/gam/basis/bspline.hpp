// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/component.hpp"

#include <tessera/gam/matrix.hpp>

#include <span>

/// B-splines, and penalties on their derivatives or on the differences of their coefficients.
namespace TESSERA_NAMESPACE::gam {

/// B-splines of a degree from one to three over every interval of `all` but as many at each end. Of a lower
/// degree than three the last raw columns are zero.
[[nodiscard]] Margin bspline_margin(std::span<const double> all, bool uniform, int degree = 3);

/// The integrals over all cells of products of the derivatives of an order of the first `size` raw columns.
[[nodiscard]] Matrix derivative_penalty(const Margin& margin, int size, int order);

/// D'D of the differences over neighbouring coefficients; cyclic ones go round.
[[nodiscard]] Matrix difference_penalty(int size, int order, bool cyclic);

}  // namespace TESSERA_NAMESPACE::gam

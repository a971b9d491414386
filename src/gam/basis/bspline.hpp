// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/basis.hpp"

#include <tessera/gam/matrix.hpp>

#include <span>

/// B-splines, and penalties on their derivatives or on the differences of their coefficients.
namespace TESSERA_NAMESPACE::gam {

/// B-splines of degree one to three on the knots `all`; their cells are the intervals except `degree` at each
/// end. For a degree below three the last raw columns are zero.
[[nodiscard]] Margin bspline_margin(std::span<const double> all, bool uniform, int degree = 3);

/// The basis on a margin of B-splines, without a penalty. Its first `columns` raw columns are not zero; raw
/// column i has coefficient i % `size`.
[[nodiscard]] Basis bspline_basis(Margin margin, std::span<const double> knots, int size, int columns);

/// The integrals over all cells of products of `order`-th derivatives of the first `size` raw columns.
[[nodiscard]] Matrix derivative_penalty(const Margin& margin, int size, int order);

/// D'D of the differences of neighbouring coefficients; `cyclic` wraps around.
[[nodiscard]] Matrix difference_penalty(int size, int order, bool cyclic);

}  // namespace TESSERA_NAMESPACE::gam

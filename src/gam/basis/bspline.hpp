// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/basis.hpp"

#include <tessera/gam/matrix.hpp>

#include <span>

/// B-splines, and penalties on their derivatives or on the differences of their coefficients.
namespace TESSERA_NAMESPACE::gam {

/// B-splines of degree one to three on the knots `all`. Their cells are the intervals between knots, without
/// the first and last `degree` intervals. For a degree below three, the last raw columns are zero.
[[nodiscard]] Margin bspline_margin(std::span<const double> all, bool uniform, int degree = 3);

/// A basis, without a penalty, on a margin of B-splines. Only the first `columns` raw columns may be nonzero;
/// raw column i has coefficient i % `size`.
[[nodiscard]] Basis bspline_basis(Margin margin, std::span<const double> knots, int size, int columns);

/// The integrals over all cells of products of `order`-th derivatives of the first `size` raw columns.
[[nodiscard]] Matrix derivative_penalty(const Margin& margin, int size, int order);

/// D'D of the differences of neighbouring coefficients; `cyclic` wraps around.
[[nodiscard]] Matrix difference_penalty(int size, int order, bool cyclic);

}  // namespace TESSERA_NAMESPACE::gam

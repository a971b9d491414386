// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/basis.hpp"

#include <tessera/gam/matrix.hpp>

#include <span>

namespace TESSERA_NAMESPACE::gam {

/// B-splines of degree one to three on the knots `all`. Their cells are the intervals between knots, without
/// the first and last `degree` intervals. For a degree below three, the last raw columns are zero.
[[nodiscard]] Margin bspline_margin(std::span<const double> all, bool uniform, int degree = 3);

/// A basis, without a penalty, on a margin of B-splines. Only the first `columns` raw columns may be nonzero;
/// raw column i has coefficient i % `size`.
[[nodiscard]] Basis bspline_basis(Margin margin, std::span<const double> knots, int size, int columns);

/// Gram matrix of the `order`-th derivatives of the first `size` raw columns, integrated over all cells.
[[nodiscard]] Matrix derivative_penalty(const Margin& margin, int size, int order);

/// D'D, where D takes differences of this order of neighbouring coefficients; `cyclic`: also across the ends.
[[nodiscard]] Matrix difference_penalty(int size, int order, bool cyclic);

}  // namespace TESSERA_NAMESPACE::gam

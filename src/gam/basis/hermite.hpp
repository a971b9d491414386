// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/basis.hpp"

#include <tessera/gam/matrix.hpp>

#include <span>

/// Piecewise cubics given by values and second derivatives at the knots, for cubic regression splines.
namespace TESSERA_NAMESPACE::gam {

/// The largest power of two that is at most the knots' range.
[[nodiscard]] double unit_of(std::span<const double> knots);

/// The coefficients of raw columns 2 i and 2 i + 1 are the value, and the second derivative with respect to x
/// / unit, at knot i.
[[nodiscard]] Margin hermite_margin(std::span<const double> knots, double unit);

/// A basis whose coefficients are values at the knots. Row i of `second` gives the second derivative at knot
/// i as a combination of the coefficients. If `second` has one row fewer than there are knots, the basis is
/// cyclic: the last knot is identified with the first. `second` and `penalty` are in units of x / unit,
/// because they may overflow in units of x.
[[nodiscard]] Basis hermite_basis(std::span<const double> knots, double unit, const Matrix& second,
                                  const Matrix& penalty, int rank);

}  // namespace TESSERA_NAMESPACE::gam

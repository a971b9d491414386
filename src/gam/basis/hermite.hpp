// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/basis.hpp"

#include <tessera/gam/matrix.hpp>

#include <span>

/// Cubics from values and second derivatives at knots: the pieces of cubic regression splines.
namespace TESSERA_NAMESPACE::gam {

/// A power of two about the size of the knots' range.
[[nodiscard]] double unit_of(std::span<const double> knots);

/// Piecewise cubics given by their values, and by their second derivatives in x / unit, at the knots: raw
/// columns 2 i and 2 i + 1 are value and second derivative at knot i.
[[nodiscard]] Margin hermite_margin(std::span<const double> knots, double unit);

/// A basis whose coefficients are values at the knots. In each interval it is the cubic with the given values
/// and second derivatives at both ends. Row i of `second` has the second derivative at knot i as a
/// combination of the coefficients. If `second` has one row less than there are knots, the basis is cyclic,
/// and the last knot is the first. `second` and `penalty` are in units of x / unit, because they may overflow
/// in units of x.
[[nodiscard]] Basis hermite_basis(std::span<const double> knots, double unit, const Matrix& second,
                                  const Matrix& penalty, int rank);

}  // namespace TESSERA_NAMESPACE::gam

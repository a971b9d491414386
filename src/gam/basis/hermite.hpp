// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/basis.hpp"

#include <tessera/gam/matrix.hpp>

#include <span>

/// Cubics from values and second derivatives at knots, of which cubic regression splines are made.
namespace TESSERA_NAMESPACE::gam {

/// A power of two about as large as what the knots span.
[[nodiscard]] double unit_of(std::span<const double> knots);

/// A cubic of one interval from its values and second derivatives by x / unit at both ends, for each
/// interval: raw columns 2 i and 2 i + 1 are those at knot i.
[[nodiscard]] Margin hermite_margin(std::span<const double> knots, double unit);

/// A basis whose coefficients are values at the knots: a cubic of each interval from its values and second
/// derivatives at both ends. `second` has the second derivatives at the knots, a row each, by the
/// coefficients; where there is a row less than knots, the last knot is the first, and the basis is cyclic.
/// They are those by x / unit, since in units of x they may be beyond all numbers. `penalty` is by x / unit
/// as well.
[[nodiscard]] Basis hermite_basis(std::span<const double> knots, double unit, const Matrix& second,
                                  const Matrix& penalty, int rank);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/component.hpp"
#include "gam/linalg/matrix.hpp"

#include <span>

/// Cubics from values and second derivatives at knots, of which cubic regression splines are made.
namespace tessera::gam {

/// A power of two about as large as what the knots span.
[[nodiscard]] double unit_of(std::span<const double> knots);

/// A penalty of second derivatives by x / unit, as the integral of the squared ones by x.
[[nodiscard]] Matrix penalty_by_x(Matrix penalty, double unit);

/// A cubic of one interval from its values and second derivatives at both ends, for each interval.
///
/// The second derivatives are those by x / unit, since in units of x they may be beyond all numbers.
[[nodiscard]] Margin hermite_margin(std::span<const double> knots, double unit);

/// The map from values at the knots to the values and second derivatives that `hermite_margin` takes;
/// `second` has a row for each knot, and with `cyclic` the last knot is the first.
[[nodiscard]] Matrix hermite_map(const Matrix& second, int knots);

}  // namespace tessera::gam

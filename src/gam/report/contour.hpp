// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/matrix.hpp>

#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Segments, as pairs of end points.
struct Segments {
  std::vector<double> x;
  std::vector<double> y;
};

/// The contour of the surface `z` (x by y, at least 2 by 2) at `level`. Each grid cell that the contour
/// crosses has one or two segments, between points on the cell's sides that are found by linear
/// interpolation. At a saddle, the mean of the corners decides between the two possible pairs of segments. A
/// cell with a NaN corner has no segment. Source: marching squares, after Lorensen and Cline, SIGGRAPH 1987.
/// Pure.
[[nodiscard]] Segments contour(std::span<const double> x, std::span<const double> y, const Matrix& z,
                               double level);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/matrix.hpp>

#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// End points of segments, in pairs.
struct Segments {
  std::vector<double> x;
  std::vector<double> y;
};

/// The contour of the surface `z` (x by y, at least 2 by 2) at `level`: in each cell of the grid one or two
/// segments, between points found on its sides by linear interpolation; at a saddle the mean of the corners
/// decides which two; none in a cell with a NaN corner. Source: marching squares, after Lorensen and Cline,
/// SIGGRAPH 1987. Pure.
[[nodiscard]] Segments contour(std::span<const double> x, std::span<const double> y, const Matrix& z,
                               double level);

}  // namespace TESSERA_NAMESPACE::gam

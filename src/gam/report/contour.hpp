// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/matrix.hpp>

#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Ends of straight pieces, two by two.
struct Segments {
  std::vector<double> x;
  std::vector<double> y;
};

/// Where the surface through `z` (x by y, at least 2 by 2) has the value `level`: in each cell of the grid
/// one piece or two, between points found on its sides by linear interpolation; at a saddle the two that the
/// mean of the corners asks for; none in a cell with a corner that is NaN. Source: marching squares, after
/// Lorensen and Cline, SIGGRAPH 1987. Pure.
[[nodiscard]] Segments contour(std::span<const double> x, std::span<const double> y, const Matrix& z,
                               double level);

}  // namespace TESSERA_NAMESPACE::gam

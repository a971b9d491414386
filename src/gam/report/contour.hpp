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

/// The contour of the surface `z` (x by y, at least 2 by 2) at `level`: one or two segments in each grid cell
/// that it crosses, between points on the cell's sides found by linear interpolation. At a saddle the mean of
/// the corners decides between the two choices. Cells with a NaN corner have none. Source: marching squares,
/// after Lorensen and Cline, SIGGRAPH 1987. Pure.
[[nodiscard]] Segments contour(std::span<const double> x, std::span<const double> y, const Matrix& z,
                               double level);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/matrix.hpp>

#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Line segments: elements 2i and 2i + 1 are the end points of segment i.
struct Segments {
  std::vector<double> x;
  std::vector<double> y;
};

/// The contour of `z` (a row per x, a column per y) at `level`, by marching squares with linear
/// interpolation. At a saddle, the mean of the four corners decides which sides are joined. Cells with a NaN
/// corner are skipped. Source: Lorensen and Cline, SIGGRAPH 1987.
[[nodiscard]] Segments contour(std::span<const double> x, std::span<const double> y, const Matrix& z,
                               double level);

}  // namespace TESSERA_NAMESPACE::gam

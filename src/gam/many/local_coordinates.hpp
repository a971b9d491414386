// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/matrix.hpp>

#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Coordinates X T of linearly independent functions, the columns of X.
struct LocalCoordinates {
  Matrix map;  ///< T
  /// For each column of X T: the only group of rows in which it is not zero; -1: there are several.
  std::vector<int> group;
};

/// Chooses coordinates so that as many as possible are zero in all groups of rows but one. If rows are
/// grouped by the level of a factor, its contrasts and the intercept become an indicator of each level. The
/// coordinates of a group span the functions that are zero in all other groups, i.e. the null space of those
/// groups' rows, which Gauss-Jordan elimination finds. Columns of X complete the coordinates. `x` has a
/// column for each row of X. Cost: n q^2 for n rows of q functions.
[[nodiscard]] LocalCoordinates local_coordinates(const Matrix& x,
                                                 const std::vector<std::vector<int>>& rows_of_group);

}  // namespace TESSERA_NAMESPACE::gam

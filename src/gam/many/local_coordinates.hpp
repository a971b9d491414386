// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/matrix.hpp>

#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Coordinates X T of independent functions, the columns of X.
struct LocalCoordinates {
  Matrix map;  ///< T
  /// By column of X T: the group of rows outside of which it is zero; -1: it is not zero in several.
  std::vector<int> group;
};

/// Chooses coordinates so that as many as possible are zero in the rows of all groups but one: contrasts of
/// the levels of a factor and the intercept become one indicator for each level, if rows are grouped by
/// level. Those of a group span the functions that are zero in all other groups, the null space of their rows
/// by Gauss-Jordan elimination; columns of X complete them. `x` has a column for each row of X. Cost: n q^2
/// for n rows of q functions.
[[nodiscard]] LocalCoordinates local_coordinates(const Matrix& x,
                                                 const std::vector<std::vector<int>>& rows_of_group);

}  // namespace TESSERA_NAMESPACE::gam

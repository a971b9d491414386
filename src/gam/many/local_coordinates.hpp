// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/matrix.hpp>

#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// A basis X T of the space of functions that the linearly independent columns of X span.
struct LocalCoordinates {
  Matrix map;  ///< T
  /// By column of X T: the only group of rows where the column is nonzero; -1: several groups.
  std::vector<int> group;
};

/// Chooses T so that as many columns as possible are nonzero in only one group of rows. With rows grouped by
/// the level of a factor, the intercept and contrasts become an indicator of each level. The coordinates of a
/// group span the null space of the rows of all other groups, by Gauss-Jordan elimination. Columns of X
/// complete the coordinates. `x` is X transposed. Cost: n q^2 for n rows of q functions.
[[nodiscard]] LocalCoordinates local_coordinates(const Matrix& x,
                                                 const std::vector<std::vector<int>>& rows_of_group);

}  // namespace TESSERA_NAMESPACE::gam

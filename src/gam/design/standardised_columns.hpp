// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/parametric.hpp"
#include "gam/design/standardise.hpp"

#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Standardises the numeric components of parametric terms without changing the span of the columns. A
/// component is centred if other columns allow it: x with an intercept or all levels of a factor, x:z with
/// columns x and z, x:f with columns of f. Other components are only scaled. Terms with a penalty are left
/// unchanged, and their columns occur only in their own combinations. Returns one combination per column, in
/// order over all terms. In each combination, the coefficient of its own column is a power of two, and the
/// other columns have lower degree or earlier variables. The determinant is therefore the product of these
/// powers.
[[nodiscard]] std::vector<ColumnCombination> standardise_columns(std::vector<ParametricColumns>& terms,
                                                                 const Standards& standards);

}  // namespace TESSERA_NAMESPACE::gam

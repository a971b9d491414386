// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/parametric.hpp"
#include "gam/design/standardise.hpp"

#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Standardises the numeric components of parametric terms, each as far as the columns go on spanning what
/// they span: x is centred beside an intercept or all levels of a factor, x:z if x and z have columns too,
/// and x:f if f has. What cannot be centred is scaled alone. Returns one combination a column, in order, both
/// counted over all terms; its part in the user's column of the same number is a power of two, and all others
/// are in columns of lower degree or of earlier variables, so that the determinant of them all is the product
/// of those powers.
[[nodiscard]] std::vector<ColumnCombination> standardise_columns(std::vector<ParametricColumns>& terms,
                                                                 const Standards& standards);

}  // namespace TESSERA_NAMESPACE::gam

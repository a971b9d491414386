// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/parametric.hpp"
#include "gam/design/standardise.hpp"

#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Standardises the numeric components of parametric terms without a change of the columns' span. A component
/// is centred where another column allows it: x with an intercept or all levels of a factor, x:z with columns
/// of x and of z, x:f with columns of f. All others are only scaled. Returns one combination for each column,
/// in order over all terms. In a combination the coefficient of the column of its own number is a power of
/// two, and all others are of columns of lower degree or of earlier variables: so the determinant is the
/// product of these powers.
[[nodiscard]] std::vector<ColumnCombination> standardise_columns(std::vector<ParametricColumns>& terms,
                                                                 const Standards& standards);

}  // namespace TESSERA_NAMESPACE::gam

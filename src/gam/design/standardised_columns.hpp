// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/parametric.hpp"
#include "gam/design/standardise.hpp"

#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Standardises the numeric components of parametric terms, as far as the columns' span is unchanged: x is
/// centred if there is an intercept or all levels of a factor, x:z if x and z have columns too, and x:f if f
/// has; otherwise it is only scaled. Returns one combination for each column, in order over all terms. Its
/// coefficient in the user's column of the same number is a power of two, and all others are in columns of
/// lower degree or of earlier variables: so the determinant is the product of these powers.
[[nodiscard]] std::vector<ColumnCombination> standardise_columns(std::vector<ParametricColumns>& terms,
                                                                 const Standards& standards);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"

#include <tessera/gam/check.hpp>
#include <tessera/gam/matrix.hpp>

#include <span>

namespace TESSERA_NAMESPACE::gam {

/// Concurvity (collinearity) of the smooths of a model, from the triangular factor of its model matrix, like
/// mgcv's `concurvity` of a `gam` model. The parametric columns, if any, are the first component. Cost:
/// O(p^3) for each component, for p coefficients in total.
[[nodiscard]] Concurvity concurvity_of(const Design& design, std::span<const double> coef,
                                       const Matrix& triangle);

}  // namespace TESSERA_NAMESPACE::gam

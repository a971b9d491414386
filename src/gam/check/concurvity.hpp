// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"

#include <tessera/gam/check.hpp>
#include <tessera/gam/matrix.hpp>

#include <span>

namespace TESSERA_NAMESPACE::gam {

/// Concurvity as in mgcv's `concurvity`, from the triangular factor R of the model matrix. The parametric
/// columns, if any, are the first component. Cost: O(p^3) for each component, for p coefficients in total.
[[nodiscard]] Concurvity concurvity_of(const Design& design, std::span<const double> coef,
                                       const Matrix& triangle);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"
#include "gam/design/standardise.hpp"
#include "gam/fit/coordinates/change.hpp"

#include <optional>

/// Centring of by= variables. If abs(mean(z)) >> sd(z), the unpenalised columns z and z·x of s(x, by = z) are
/// nearly collinear with 1 and x, and their crossproduct loses the digits that distinguish them. If the other
/// terms contain the unpenalised function q of x, z q is replaced by u q, with u the centred z: the model
/// space and the penalties are unchanged. The change is orthogonal on the penalised coefficients.
namespace TESSERA_NAMESPACE::gam {

/// The centred design, with an unpenalised block at its end for each smooth from which functions were moved;
/// empty if no by= variable has abs(mean) >> sd, or no such function is in the span of the other terms.
/// `design` must have all its constraints. Pure.
[[nodiscard]] std::optional<ChangedDesign> centre_by_variables(const Design& design,
                                                               const Standards& standards);

}  // namespace TESSERA_NAMESPACE::gam

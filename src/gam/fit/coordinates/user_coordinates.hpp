// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/model/model.hpp"
#include "gam/rows/row_pass.hpp"

namespace TESSERA_NAMESPACE::gam {

/// Transforms a model from the coordinates of its fit (standardised variables, scaled response and weights)
/// to those of the formula. The caller converts scale and deviances. Quantities that need the covariance of
/// centred columns are stored as `FittedModel::centring`.
///
/// Throws `Error(input)` if a coefficient's variance overflows in the variables' units. A rank without the
/// covariance skips the parts that need it.
void to_user_coordinates(FittedModel& model, const Rows& units, bool scale_estimated);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/model/model.hpp"
#include "gam/rows/row_pass.hpp"

namespace TESSERA_NAMESPACE::gam {

/// Turns a model from the coordinates of its fit, where numbers are standardised and the response and the
/// weights have units of their own, to those of the formula: coefficients, covariance, smoothing parameters,
/// REML and the tests of coefficients, and the design itself. What only the covariance of centred columns
/// tells is kept as `FittedModel::centring`. The caller converts scale and deviances.
///
/// Throws `Error(input)` if a coefficient's variance overflows in the variables' units. A rank without the
/// covariance skips what needs it.
void to_user_coordinates(FittedModel& model, const Rows& units, bool scale_estimated);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/linalg/parted_matrix.hpp"
#include "gam/model/model.hpp"

#include <tessera/gam/matrix.hpp>

namespace TESSERA_NAMESPACE::gam {

/// Throws `Error(usage)` for a model that has only a part of its covariance: "`what` need the whole …".
void require_whole_covariance(const FittedModel& model, const char* what);

/// Throws `Error(usage)` for a model whose whole covariance does not follow from what it has
/// (`WholeInverse`).
void require_following_covariance(const FittedModel& model, const char* what);

/// The K of `SmoothingUncertainty`. Throws `Error(usage)` for a model whose whole covariance does not follow.
[[nodiscard]] Matrix uncertainty_root(const FittedModel& model);

/// V + K K', where V is stored.
[[nodiscard]] PartedMatrix with_uncertainty(PartedMatrix sum, const Matrix& k);

/// The posterior covariance of the coefficients, also with the uncertainty of the smoothing parameters.
/// Throws `Error(usage)` where that takes elements that the model lacks.
[[nodiscard]] PartedMatrix covariance_of(const FittedModel& model, bool unconditional);

}  // namespace TESSERA_NAMESPACE::gam

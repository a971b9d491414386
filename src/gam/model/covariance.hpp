// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/linalg/parted_matrix.hpp"
#include "gam/model/model.hpp"

#include <tessera/gam/matrix.hpp>

namespace TESSERA_NAMESPACE::gam {

/// Throws `Error(usage)` ("`what` need the whole …") for a model that stores only a part of its covariance.
void require_whole_covariance(const FittedModel& model, const char* what);

/// Throws `Error(usage)` for a model that stores a part of its covariance from which the whole cannot be
/// computed (`WholeInverse`).
void require_following_covariance(const FittedModel& model, const char* what);

/// The K of `SmoothingUncertainty`. Throws as `require_following_covariance`.
[[nodiscard]] Matrix uncertainty_root(const FittedModel& model);

/// V + K K', in the elements that V stores.
[[nodiscard]] PartedMatrix with_uncertainty(PartedMatrix sum, const Matrix& k);

/// The posterior covariance of the coefficients; `unconditional`: with the uncertainty of the smoothing
/// parameters, which throws `Error(usage)` if the model lacks elements that it takes.
[[nodiscard]] PartedMatrix covariance_of(const FittedModel& model, bool unconditional);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/linalg/parted_matrix.hpp"
#include "gam/model/model.hpp"

#include <tessera/gam/matrix.hpp>

namespace TESSERA_NAMESPACE::gam {

/// Throws `Error(usage)` ("`what` need …") if the model has no covariance.
void require_covariance(const FittedModel& model, const char* what);

/// Throws `Error(usage)` ("`what` need the whole …") if the model stores only a part of its covariance.
void require_whole_covariance(const FittedModel& model, const char* what);

/// Throws `Error(usage)` unless the model stores its whole covariance, or a part from which `WholeInverse`
/// can compute the rest.
void require_computable_covariance(const FittedModel& model, const char* what);

/// The K of `SmoothingUncertainty`. Throws like `require_computable_covariance`.
[[nodiscard]] Matrix uncertainty_root(const FittedModel& model);

/// `sum` + K K', for the elements that `sum` stores.
[[nodiscard]] PartedMatrix with_uncertainty(PartedMatrix sum, const Matrix& k);

/// The posterior covariance of the coefficients. `unconditional`: includes the uncertainty of the smoothing
/// parameters; throws `Error(usage)` if the model does not store the elements needed for this.
[[nodiscard]] PartedMatrix covariance_of(const FittedModel& model, bool unconditional);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/many/row_kernels.hpp"

#include <span>

namespace TESSERA_NAMESPACE::gam {

/// Sums over the rows of a response that do not depend on the model.
struct ResponseConstants {
  double rows = 0;
  double weight = 0;
  double log_weight = 0;
  double log_response = 0;  ///< gamma only: sum of w log(y)
  /// Binomial and gamma: saturated log likelihood without terms of the scale.
  double log_likelihood = 0;
};
/// All sums are zero for nb and poisson; see `SaturatedCounts`.
[[nodiscard]] ResponseConstants constants_of(ManyFamily family, std::span<const double> y,
                                             std::span<const double> weights);

/// The log likelihood in mgcv's AIC: for gaussian at the variance deviance / rows, for gamma at the scale
/// `phi`. `saturated`: log likelihood of saturated counts. `loss`: sum of `add_losses`.
[[nodiscard]] double log_likelihood_of(ManyFamily family, const ResponseConstants& constants,
                                       double saturated, double loss, double deviance, double phi);

}  // namespace TESSERA_NAMESPACE::gam

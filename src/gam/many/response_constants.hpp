// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/many/row_kernels.hpp"

#include <span>

namespace TESSERA_NAMESPACE::gam {

/// Sums over the rows of a response that do not depend on the model.
struct ResponseConstants {
  double rows = 0;
  double weight = 0;        ///< sum of the weights of all rows
  double log_weight = 0;    ///< sum of the logarithms of the weights
  double log_response = 0;  ///< gamma: weighted sum of the logarithms of the responses
  /// Binomial and gamma: the log likelihood of a saturated model, without the terms of the scale.
  double log_likelihood = 0;
};
/// Families of counts have none: see `SaturatedCounts`.
[[nodiscard]] ResponseConstants constants_of(ManyFamily family, std::span<const double> y,
                                             std::span<const double> weights);

/// The log likelihood for mgcv's AIC; for gaussian with the variance deviance / rows, for gamma with the
/// scale `phi`. `saturated`: of counts. `loss`: the sum of `add_losses`.
[[nodiscard]] double log_likelihood_of(ManyFamily family, const ResponseConstants& constants,
                                       double saturated, double loss, double deviance, double phi);

}  // namespace TESSERA_NAMESPACE::gam

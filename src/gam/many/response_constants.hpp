// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/many/count_tail.hpp"
#include "gam/many/row_kernels.hpp"

#include <span>

namespace TESSERA_NAMESPACE::gam {

/// Sums over the rows of a response that do not depend on the model.
struct ResponseConstants {
  double rows = 0;
  double weight = 0;          ///< sum of the weights of all rows
  double log_weight = 0;      ///< sum of the logarithms of the weights
  double log_response = 0;    ///< gamma: weighted sum of the logarithms of the responses
  double log_likelihood = 0;  ///< sum of the terms of the log likelihood that `add_losses` leaves out
};
/// `counts`: the responses above zero of a family of counts; not read for other families.
[[nodiscard]] ResponseConstants constants_of(ManyFamily family, std::span<const double> y,
                                             std::span<const double> weights, const CountTail& counts);

/// The sum of the losses of `add_losses` if each mean equals its response.
[[nodiscard]] double saturated_loss(ManyFamily family, double theta, std::span<const double> y,
                                    std::span<const double> weights, const CountTail& counts);

/// The log likelihood for mgcv's AIC. Gaussian: with the variance deviance / rows; gamma: with the scale
/// `phi`. `loss`: the sum of `add_losses`; for nb, minus the sum of `CountTail`.
[[nodiscard]] double log_likelihood_of(ManyFamily family, const ResponseConstants& constants, double loss,
                                       double deviance, double phi);

}  // namespace TESSERA_NAMESPACE::gam

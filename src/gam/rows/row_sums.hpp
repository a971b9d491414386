// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/linalg/parted_matrix.hpp"

#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Sums over all rows of the job.
struct RawSums {
  PartedMatrix gram;             ///< R'WR, raw x raw
  std::vector<double> gradient;  ///< R'W r, with the working residual r
  double residual = 0;           ///< r'W r
  double deviance = 0;
  double bad_rows = 0;  ///< rows whose step is not finite, or whose weight is negative
};

/// Goodness of fit on the response scale.
struct RawDeviance {
  double deviance = 0;
  double bad_rows = 0;         ///< as in `RawSums`
  double residual_sum = 0;     ///< sum of sqrt(prior) (y - mu)
  double residual_square = 0;  ///< sum of prior (y - mu)^2
};

/// Goodness of fit with several linear predictors.
struct RawGoodness {
  double minus_two_log_likelihood = 0;
  double deviance = 0;       ///< sum of squared deviance residuals
  double null_deviance = 0;  ///< sum for the null model
  double bad_rows = 0;       ///< rows whose contribution is not finite
};

/// Likelihood as a function of the family's parameters, at given means.
struct RawLikelihood {
  double minus_log = 0;          ///< negative log-likelihood, without terms of the response alone
  std::vector<double> gradient;  ///< gradient of `minus_log` in the working parameters
  Matrix hessian;
  double bad_rows = 0;  ///< rows whose contribution is not finite
};

/// Sums that do not depend on coefficients.
struct RawMoments {
  std::vector<double> column_sums;   ///< R'1 over complete rows
  double sum_weight = 0;             ///< sum of prior weights
  double sum_weighted_response = 0;  ///< weighted sum of y - offset for gaussian, of y otherwise
  double sum_weighted_square = 0;    ///< weighted sum of y^2; only with several linear predictors
  [[nodiscard]] double mean_response() const noexcept { return sum_weighted_response / sum_weight; }
};

}  // namespace TESSERA_NAMESPACE::gam

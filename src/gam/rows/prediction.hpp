// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/linalg/parted_matrix.hpp"

#include <limits>
#include <vector>

namespace tessera::gam {

/// Of one row; NaN where a value is missing.
struct Prediction {
  double fit = std::numeric_limits<double>::quiet_NaN();
  double se = std::numeric_limits<double>::quiet_NaN();
};

/// What rows are predicted from.
struct Posterior {
  std::vector<double> coef;
  PartedMatrix covariance;  ///< of the coefficients; empty: no standard errors
  bool response = false;    ///< predictions of the response's mean, not of the linear predictor
};

}  // namespace tessera::gam

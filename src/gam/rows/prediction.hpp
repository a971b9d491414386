// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/linalg/parted_matrix.hpp"

#include <cstddef>
#include <limits>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// A row's fit and standard error; NaN if a value of the row is missing.
struct Prediction {
  double fit = std::numeric_limits<double>::quiet_NaN();
  double se = std::numeric_limits<double>::quiet_NaN();
};

/// Output columns of a prediction by term: each is the sum over the term's raw columns, without offsets. The
/// column's variance is x'V x + slopes'x + constant; V covers the term's coefficients. With several linear
/// predictors, each predictor may be an output column, including offsets.
struct TermColumns {
  int count = 0;                    ///< 0: one column, the linear predictor with offsets
  std::vector<int> of_raw{};        ///< output column of each raw column; -1: none
  std::vector<double> slopes{};     ///< linear terms of the variance, over raw columns; empty: zeros
  std::vector<double> constants{};  ///< constant of the variance, one per output column; empty: zeros
  bool are_predictors = false;      ///< one output column per linear predictor

  [[nodiscard]] int columns() const noexcept { return count == 0 ? 1 : count; }
};

struct Posterior {
  std::vector<double> coef;
  PartedMatrix covariance;  ///< covariance of the coefficients; empty: no standard errors
  bool response = false;    ///< predict the mean, not the linear predictor
  TermColumns terms{};
};

}  // namespace TESSERA_NAMESPACE::gam

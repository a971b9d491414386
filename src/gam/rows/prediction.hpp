// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/linalg/parted_matrix.hpp"

#include <cstddef>
#include <limits>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Prediction of one row; NaN if a value is missing.
struct Prediction {
  double fit = std::numeric_limits<double>::quiet_NaN();
  double se = std::numeric_limits<double>::quiet_NaN();
};

/// Decomposes a prediction into terms: each term is the sum over its own raw columns, without offsets. Its
/// variance is x'V x + slopes'x + constant, with V over the term's own coefficients. In a model with several
/// linear predictors, each of them is such a term, with its offsets.
struct TermColumns {
  int count = 0;                    ///< 0: one output column, the sum of all raw columns and the offsets
  std::vector<int> of_raw{};        ///< the term of each raw column; -1: none
  std::vector<double> slopes{};     ///< linear terms of the variance, over raw columns; empty: zeros
  std::vector<double> constants{};  ///< constant terms of the variance, one per term; empty: zeros
  bool are_predictors = false;      ///< whether there is one term for each linear predictor of the design

  /// Number of output columns.
  [[nodiscard]] int columns() const noexcept { return count == 0 ? 1 : count; }
};

/// Estimates from which rows are predicted.
struct Posterior {
  std::vector<double> coef;
  PartedMatrix covariance;  ///< covariance of the coefficients; empty: no standard errors
  bool response = false;    ///< whether to predict the response's mean, not the linear predictor
  TermColumns terms{};
};

}  // namespace TESSERA_NAMESPACE::gam

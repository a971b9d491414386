// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/family.hpp"
#include "gam/family/list.hpp"
#include "gam/reml/reml.hpp"
#include "support/dense_model.hpp"

#include <vector>

namespace TESSERA_NAMESPACE::gam::testing {

struct DenseFit {
  RemlFit fit;
  Matrix gram;  ///< X'WX of the last working model
  std::vector<double> fitted;
  double deviance = 0;
  int steps = 0;
};

/// Performance iteration with unit prior weights, in the order of mgcv's bam: a working model at the current
/// linear predictor, its smoothing parameters and coefficients by REML, until the deviance of two successive
/// predictors agrees to 1e-12. A gaussian fit is solved twice, the second time about the first.
[[nodiscard]] DenseFit performance_iteration(const DenseModel& model, const std::vector<double>& y,
                                             const Family& family);

}  // namespace TESSERA_NAMESPACE::gam::testing

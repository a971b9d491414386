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

/// Performance iteration as in mgcv's bam, with unit prior weights: fits each working model by REML until the
/// relative change of the deviance is below 1e-12. A gaussian fit takes two steps; the second starts from the
/// first's coefficients.
[[nodiscard]] DenseFit performance_iteration(const DenseModel& model, const std::vector<double>& y,
                                             const Family& family);

}  // namespace TESSERA_NAMESPACE::gam::testing

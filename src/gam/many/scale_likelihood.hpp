// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/many/row_kernels.hpp"

#include <span>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Saturated log likelihood as a function of the scale phi, without terms of the response only.
class ScaleLikelihood {
 public:
  ScaleLikelihood() = default;
  /// `weights`: by slot; zero: no row. For families without a scale the log likelihood is 0.
  ScaleLikelihood(ManyFamily family, std::span<const double> weights);

  /// Derivatives are by log(phi).
  struct Value {
    double value = 0;
    double slope = 0;
    double curvature = 0;
  };
  [[nodiscard]] Value at(double phi) const;

 private:
  ManyFamily family_ = ManyFamily::gaussian;
  std::vector<std::pair<double, double>> weights_;  ///< distinct weights and their numbers of rows
};

}  // namespace TESSERA_NAMESPACE::gam

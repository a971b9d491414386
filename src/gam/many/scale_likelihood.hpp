// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/many/row_kernels.hpp"

#include <span>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The saturated log likelihood of a family with a scale phi, without terms that depend only on the response.
class ScaleLikelihood {
 public:
  ScaleLikelihood() = default;
  /// `weights`: by slot; zero: no row. Empty for families without a scale.
  ScaleLikelihood(ManyFamily family, std::span<const double> weights);

  /// The value and its derivatives by log(phi).
  struct Value {
    double value = 0;
    double slope = 0;
    double curvature = 0;
  };
  [[nodiscard]] Value at(double phi) const;

 private:
  ManyFamily family_ = ManyFamily::gaussian;
  std::vector<std::pair<double, double>> weights_;  ///< distinct weights, each with its number of rows
};

}  // namespace TESSERA_NAMESPACE::gam

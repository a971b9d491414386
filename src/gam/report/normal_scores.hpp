// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/inference/distributions.hpp"

#include <cstddef>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Normal quantiles at (i - 1/2) / n for i = 1, …, n: the abscissae of a QQ plot.
[[nodiscard]] inline std::vector<double> normal_scores(std::size_t n) {
  std::vector<double> scores;
  scores.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    scores.push_back(normal_quantile((static_cast<double>(i) + 0.5) / static_cast<double>(n)));
  }
  return scores;
}

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/inference/distributions.hpp"

#include <cstddef>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The normal quantiles at (i - 1/2) / n, with which n sorted values are compared.
[[nodiscard]] inline std::vector<double> normal_scores(std::size_t n) {
  std::vector<double> scores;
  scores.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    scores.push_back(normal_quantile((static_cast<double>(i) + 0.5) / static_cast<double>(n)));
  }
  return scores;
}

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace tessera::gam {

/// The x with P(Z < x) = `probability`, in (0, 1), by bisection to a billionth: for plots, not for many.
[[nodiscard]] inline double normal_quantile(double probability) {
  double low = -40;
  double high = 40;
  while (high - low > 1e-9) {
    const double middle = (low + high) / 2;
    (std::erfc(-middle / std::sqrt(2.0)) / 2 < probability ? low : high) = middle;
  }
  return (low + high) / 2;
}

/// The quantiles at (i - 1/2) / n that n sorted values are held against.
[[nodiscard]] inline std::vector<double> normal_scores(std::size_t n) {
  std::vector<double> scores;
  scores.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    scores.push_back(normal_quantile((static_cast<double>(i) + 0.5) / static_cast<double>(n)));
  }
  return scores;
}

}  // namespace tessera::gam

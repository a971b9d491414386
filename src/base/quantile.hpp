// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace tessera::base {

/// The p-quantile of a non-empty sorted sample, by linear interpolation (type 7 of Hyndman and Fan, R's
/// default).
[[nodiscard]] inline double quantile(std::span<const double> sorted, double p) {
  const double place = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const double above = sorted[std::min(below + 1, sorted.size() - 1)];
  return sorted[below] + (place - static_cast<double>(below)) * (above - sorted[below]);
}

}  // namespace tessera::base

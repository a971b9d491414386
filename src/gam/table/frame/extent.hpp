// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

namespace TESSERA_NAMESPACE::gam {

/// The least and the largest of some values.
struct Extent {
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();

  void add(double value) {
    min = std::min(min, value);
    max = std::max(max, value);
  }
  void add(const Extent& other) {
    min = std::min(min, other.min);
    max = std::max(max, other.max);
  }
  [[nodiscard]] bool empty() const { return min > max; }
  /// Whether the values are equal up to rounding at the magnitude `size`.
  [[nodiscard]] bool constant(double size) const {
    return max - min <= 4 * std::numeric_limits<double>::epsilon() * size;
  }
  [[nodiscard]] double size() const { return std::max(std::abs(min), std::abs(max)); }
};

/// The extent of all values. Several minima and maxima, as a comparison waits for the one before it.
[[nodiscard]] inline Extent extent_of(std::span<const double> values) {
  std::array<Extent, 4> lanes;
  std::size_t i = 0;
  for (; i + lanes.size() <= values.size(); i += lanes.size()) {
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) lanes[lane].add(values[i + lane]);
  }
  for (; i < values.size(); ++i) lanes[0].add(values[i]);
  for (std::size_t lane = 1; lane < lanes.size(); ++lane) lanes[0].add(lanes[lane]);
  return lanes[0];
}

}  // namespace TESSERA_NAMESPACE::gam

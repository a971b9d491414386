// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace TESSERA_NAMESPACE::gam {

/// The minimum and maximum of some values.
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

}  // namespace TESSERA_NAMESPACE::gam

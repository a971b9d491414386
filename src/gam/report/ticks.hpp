// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <limits>
#include <span>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// About `count`, and at least two, multiples in [low, high] of 1, 2 or 5 times a power of ten. Each tick is
/// the double nearest to its decimal value. Empty unless low < high and the difference is finite.
[[nodiscard]] std::vector<double> ticks(double low, double high, int count = 5);

/// Texts of ticks, with a true minus sign. All have the same number of decimals, the fewest that show every
/// tick exactly.
struct TickLabels {
  std::vector<std::string> texts;
  int power = 0;  ///< common power of ten: nonzero if numbers are very large or small
};
[[nodiscard]] TickLabels tick_labels(std::span<const double> ticks);

/// The text of a power of ten: "×10⁻⁸"; empty for 0.
[[nodiscard]] std::string power_text(int power);

struct Interval {
  double low = 0;
  double high = 1;
};
/// The neutral element for extending an interval: it contains no number.
inline constexpr Interval no_interval{std::numeric_limits<double>::infinity(),
                                      -std::numeric_limits<double>::infinity()};
/// Adds 5 % of the width on either side; if low = high, a margin that makes the width positive.
[[nodiscard]] Interval widened(Interval values);

}  // namespace TESSERA_NAMESPACE::gam

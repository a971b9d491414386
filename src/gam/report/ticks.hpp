// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <limits>
#include <span>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Round numbers in [low, high], up to a billionth of the step: multiples of 1, 2 or 5 times a power of ten,
/// about `count` and at least two of them. `low` < `high`, both finite. Each tick is the double nearest to
/// its decimal number.
[[nodiscard]] std::vector<double> ticks(double low, double high, int count = 5);

/// Texts of ticks, with a true minus sign. All have the same number of decimals, the fewest that distinguish
/// the ticks.
struct TickLabels {
  std::vector<std::string> texts;
  int power = 0;  ///< common power of ten: nonzero if numbers are very large or small
};
[[nodiscard]] TickLabels tick_labels(std::span<const double> ticks);

/// The text of a power of ten: "×10⁻⁸"; empty for 0.
[[nodiscard]] std::string power_text(int power);

/// [low, high] with a margin of a twentieth on either side; if low = high, an interval of some width.
struct Interval {
  double low = 0;
  double high = 1;
};
/// The neutral element for extending an interval: it contains no number.
inline constexpr Interval no_interval{std::numeric_limits<double>::infinity(),
                                      -std::numeric_limits<double>::infinity()};
[[nodiscard]] Interval widened(Interval values);

}  // namespace TESSERA_NAMESPACE::gam

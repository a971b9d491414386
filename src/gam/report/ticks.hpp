// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <limits>
#include <span>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Round numbers, multiples of 1, 2 or 5 times a power of ten, inside [low, high] (to a billionth of their
/// distance): about `count` of them, and at least two. Both ends are finite and `low` < `high`. Each is the
/// double nearest to its decimal number.
[[nodiscard]] std::vector<double> ticks(double low, double high, int count = 5);

/// Ticks as texts, all with the same decimals, as many as distinguish them, with a true minus sign.
struct TickLabels {
  std::vector<std::string> texts;
  int power = 0;  ///< power of ten common to all: nonzero if they are very large or small
};
[[nodiscard]] TickLabels tick_labels(std::span<const double> ticks);

/// "×10⁻⁸"; empty for 0.
[[nodiscard]] std::string power_text(int power);

/// [low, high] with a margin of a twentieth at both sides; around a single value, one of some width.
struct Interval {
  double low = 0;
  double high = 1;
};
/// The neutral element of extending an interval.
inline constexpr Interval no_interval{std::numeric_limits<double>::infinity(),
                                      -std::numeric_limits<double>::infinity()};
[[nodiscard]] Interval widened(Interval values);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
// Counts of values by a range, for registers of any width: see base/each_width.hpp.

/// A NaN is neither below the range nor in it.
TESSERA_TARGET Bounded count_bounded(const double* values, std::size_t count, double low, double high) {
  const auto least = Wide::Doubles{} + low;
  const auto greatest = Wide::Doubles{} + high;
  // Comparisons are -1 where they hold.
  decltype(least < greatest) below{};
  decltype(least < greatest) up_to{};
  std::size_t i = 0;
  for (; i + Wide::count <= count; i += Wide::count) {
    const auto some = *Wide::at(values + i);
    below -= some < least;
    up_to -= some <= greatest;
  }
  Bounded out{0, 0};
  for (int lane = 0; lane < Wide::count; ++lane) {
    out.below += below[lane];
    out.inside += up_to[lane] - below[lane];
  }
  for (; i < count; ++i) {
    out.below += values[i] < low ? 1 : 0;
    out.inside += values[i] >= low && values[i] <= high ? 1 : 0;
  }
  return out;
}

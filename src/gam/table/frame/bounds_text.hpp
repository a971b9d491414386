// SPDX-License-Identifier: Apache-2.0
// Finds values in a range, for registers of any width: see base/each_width.hpp.

/// Appends the values in the range to `found`, which has room for `count`. A NaN is neither below the range
/// nor in it. A branch for each value would often be mispredicted, where one for the values of a step is not:
/// few steps have a value in the range.
TESSERA_TARGET Bounded find_bounded(const double* values, std::size_t count, double low, double high,
                                    double* found) {
  constexpr std::size_t vectors = 4;
  constexpr std::size_t step = vectors * Wide::count;
  const auto least = Wide::Doubles{} + low;
  const auto greatest = Wide::Doubles{} + high;
  using Flags = decltype(least < greatest);  // -1 where a comparison holds
  Flags below{};
  Bounded out{0, 0};
  std::size_t i = 0;
  for (; i + step <= count; i += step) {
    Flags inside{};
    for (std::size_t v = 0; v < vectors; ++v) {
      const auto some = *Wide::at(values + i + v * Wide::count);
      below -= some < least;
      inside |= (some >= least) & (some <= greatest);
    }
    std::int64_t any = 0;
    for (int lane = 0; lane < Wide::count; ++lane) any |= inside[lane];
    if (any == 0) continue;
    for (std::size_t j = i; j < i + step; ++j) {
      found[out.inside] = values[j];
      out.inside +=
          static_cast<std::int64_t>(values[j] >= low) & static_cast<std::int64_t>(values[j] <= high);
    }
  }
  for (int lane = 0; lane < Wide::count; ++lane) out.below += below[lane];
  for (; i < count; ++i) {
    found[out.inside] = values[i];
    out.below += values[i] < low ? 1 : 0;
    out.inside += values[i] >= low && values[i] <= high ? 1 : 0;
  }
  return out;
}

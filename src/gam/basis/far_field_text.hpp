// SPDX-License-Identifier: Apache-2.0
// Sums of functions at a few places. Compiled for each register width: see base/each_width.hpp.

/// Computes the sums of `columns` columns, four at a time, at `count` of at most `FarField::together` places.
TESSERA_TARGET void sum_functions(const FarSums& sums, int columns, int count, const double* functions,
                                  double* const* out) {
  constexpr int together = FarField::together;
  for (int c = 0; c < columns; c += UpToFour::count) {
    const std::ptrdiff_t panel = c / 4;
    const double* expansion = sums.expansion + panel * 4 * sums.expanded + c % 4;
    const double* weights = sums.weights + panel * 4 * sums.all + c % 4;
    UpToFour::Doubles sum[together] = {};
    const double* f = functions;
    for (int i = 0; i < sums.expanded; ++i, f += together) {
      const auto weight = *UpToFour::at(expansion + std::ptrdiff_t{4} * i);
      for (int r = 0; r < together; ++r) sum[r] += f[r] * weight;
    }
    for (int i = 0; i < sums.near_count; ++i, f += together) {
      const auto weight = *UpToFour::at(weights + std::ptrdiff_t{4} * sums.near[i]);
      for (int r = 0; r < together; ++r) sum[r] += f[r] * weight;
    }
    for (int r = 0; r < count; ++r) *UpToFour::at(out[r] + c) = sum[r];
  }
}

/// to[i] += re * a[i] - im * b[i], and other[i] += re * b[i] + im * a[i].
TESSERA_TARGET void add_complex_multiple(double re, double im, const double* a, const double* b, int count,
                                         double* to, double* other) {
  for (int i = 0; i < count; i += UpToFour::count) {
    const auto x = *UpToFour::at(a + i);
    const auto y = *UpToFour::at(b + i);
    *UpToFour::at(to + i) += re * x - im * y;
    *UpToFour::at(other + i) += re * y + im * x;
  }
}

TESSERA_TARGET void add_multiple_of(double factor, const double* a, int count, double* to) {
  for (int i = 0; i < count; i += UpToFour::count) *UpToFour::at(to + i) += factor * *UpToFour::at(a + i);
}

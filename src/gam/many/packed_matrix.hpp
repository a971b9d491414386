// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

/// Packed symmetric matrices (upper triangle, row by row), for host and devices.
namespace TESSERA_NAMESPACE::gam {

[[nodiscard]] constexpr int packed_size(int columns) noexcept {
  return columns * (columns + 1) / 2;
}

/// to += a b for a packed symmetric matrix a.
inline void add_packed_product(int n, const double* a, const double* b, double* to) {
  for (int i = 0; i < n; ++i) {
    to[i] += *a++ * b[i];
    for (int j = i + 1; j < n; ++j, ++a) {
      to[i] += *a * b[j];
      to[j] += *a * b[i];
    }
  }
}

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstddef>

namespace TESSERA_NAMESPACE::gam {

/// An orthogonal polynomial of R's poly() and predict.poly, before normalisation:
/// z[j + 1] = (x - alpha[j]) z[j] - square[j] / square[j - 1] z[j - 1].
[[nodiscard]] inline double orthogonal_polynomial(const double* alpha, const double* square,
                                                  std::size_t degree, double x) {
  double before = 0;
  double z = 1;
  for (std::size_t j = 0; j < degree; ++j) {
    const double next = (x - alpha[j]) * z - (j == 0 ? 0 : square[j] / square[j - 1] * before);
    before = z;
    z = next;
  }
  return z;
}

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#include "gam/formula/polynomial_contrasts.hpp"

#include <cmath>

namespace TESSERA_NAMESPACE::gam {

std::vector<double> polynomial_contrast(std::size_t levels, std::size_t degree) {
  // Gram polynomials at equally spaced points around 0, with positive leading coefficients.
  const auto n = static_cast<double>(levels);
  std::vector<double> before(levels, 0);
  std::vector<double> now(levels, 1 / std::sqrt(n));
  double last = 0;
  for (std::size_t j = 1; j <= degree; ++j) {
    // x p[j - 1] = b[j] p[j] + b[j - 1] p[j - 2], where b[j] = j / 2 sqrt((n^2 - j^2) / (4 j^2 - 1)).
    const auto order = static_cast<double>(j);
    const double b = order / 2 * std::sqrt((n * n - order * order) / (4 * order * order - 1));
    for (std::size_t i = 0; i < levels; ++i) {
      const double x = static_cast<double>(i) - (n - 1) / 2;
      const double next = (x * now[i] - last * before[i]) / b;
      before[i] = now[i];
      now[i] = next;
    }
    last = b;
  }
  return now;
}

std::string polynomial_suffix(std::size_t degree) {
  constexpr const char* names[] = {".L", ".Q", ".C"};
  return degree <= 3 ? names[degree - 1] : "^" + std::to_string(degree);
}

}  // namespace TESSERA_NAMESPACE::gam

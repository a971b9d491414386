// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Maximum number of levels, as in R: with more, rounding makes the polynomials dependent.
inline constexpr std::size_t most_polynomial_levels = 95;

/// Column `degree` of R's contr.poly(levels): the orthonormal polynomial of that degree at 1, 2, …, levels.
[[nodiscard]] std::vector<double> polynomial_contrast(std::size_t levels, std::size_t degree);

/// The suffix that R adds to the factor's name: .L, .Q, .C, ^4, …
[[nodiscard]] std::string polynomial_suffix(std::size_t degree);

}  // namespace TESSERA_NAMESPACE::gam

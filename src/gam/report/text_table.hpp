// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <string>
#include <string_view>
#include <vector>

/// Tables as R prints them; small p-values are printed as a bound ("<2e-16").
namespace TESSERA_NAMESPACE::gam {

/// Cells by row. The first row is the header, the first column has names, and the last column has
/// significance stars or is empty.
using TextTable = std::vector<std::vector<std::string>>;

/// The table as text: names left-aligned and escaped by `printable`, numbers right-aligned.
[[nodiscard]] std::string aligned(TextTable rows);

[[nodiscard]] std::string_view stars(double p);
/// As R's format.pval: a bound if p is below the machine epsilon; NaN is printed as NA.
[[nodiscard]] std::string p_text(double p);
/// NaN, of a term that was not tested, is printed as NA.
[[nodiscard]] std::string statistic_text(double value);

}  // namespace TESSERA_NAMESPACE::gam

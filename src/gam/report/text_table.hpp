// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <string>
#include <string_view>
#include <vector>

/// Tables as R prints them; small p-values are printed as a bound ("<2e-16").
namespace TESSERA_NAMESPACE::gam {

/// The rows of a table; the first row is the header. The first column has names; the last column has the
/// significance stars of p-values, or nothing.
using TextTable = std::vector<std::vector<std::string>>;

/// The table as text, its first column left-aligned, all others right-aligned. A name takes one line.
[[nodiscard]] std::string aligned(TextTable rows);

[[nodiscard]] std::string_view stars(double p);
/// R's format.pval: below the machine epsilon only a bound is meaningful.
[[nodiscard]] std::string p_text(double p);
/// A statistic; NaN, for a term that was not tested, is printed as NA.
[[nodiscard]] std::string statistic_text(double value);

}  // namespace TESSERA_NAMESPACE::gam

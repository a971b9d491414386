// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <string>
#include <string_view>
#include <vector>

/// Tables as R prints them; p-values with their bound ("<2e-16").
namespace TESSERA_NAMESPACE::gam {

/// A header row, then a row each: the name first, and the stars of its p-value, or nothing, last.
using TextTable = std::vector<std::vector<std::string>>;

/// The table with its first column left-aligned, and all others right-aligned. A name has one line.
[[nodiscard]] std::string aligned(TextTable rows);

[[nodiscard]] std::string_view stars(double p);
/// R's format.pval: below the machine epsilon only the bound is meaningful.
[[nodiscard]] std::string p_text(double p);
/// NaN, for a term that was not tested, is printed as NA.
[[nodiscard]] std::string statistic_text(double value);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/output/output_rows.hpp"

#include <span>
#include <string>

namespace TESSERA_NAMESPACE::gam {

/// The header: names, in quotes where they must be.
[[nodiscard]] std::string csv_header(std::span<const OutputColumn> columns);

/// Local rows, one line each: NA for missing values, levels in quotes, so that they are read as the same
/// columns.
[[nodiscard]] std::string csv_lines(std::span<const OutputColumn> columns, Range rows);

}  // namespace TESSERA_NAMESPACE::gam

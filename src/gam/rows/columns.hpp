// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/row_pass.hpp"

#include <cstdint>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Indices into the frame of the variables that a pass reads, ascending.
[[nodiscard]] std::vector<int> variables_read(const Rows& rows);

/// Bytes per row of all variables and of the flag of complete rows.
[[nodiscard]] std::int64_t bytes_per_row(const Frame& frame);

/// Bytes per row of the variables that a pass reads and of the flag of complete rows.
[[nodiscard]] std::int64_t column_bytes_per_row(const Rows& rows);

}  // namespace TESSERA_NAMESPACE::gam

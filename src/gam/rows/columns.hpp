// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/row_pass.hpp"

#include <cstdint>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The variables that a pass reads, as indices into the frame, each once and in increasing order.
[[nodiscard]] std::vector<int> variables_read(const Rows& rows);

/// Bytes per row of a frame: all variables, and the flag of complete rows.
[[nodiscard]] std::int64_t bytes_per_row(const Frame& frame);

/// Bytes per row that a pass reads: its variables, and the flag of complete rows.
[[nodiscard]] std::int64_t column_bytes_per_row(const Rows& rows);

}  // namespace TESSERA_NAMESPACE::gam

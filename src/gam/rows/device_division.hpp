// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstdint>

namespace TESSERA_NAMESPACE::gam {

/// Scratch memory takes 1 / scratch_share of a device's memory budget; columns may take the rest.
inline constexpr std::int64_t scratch_share = 5;
/// Double buffering: one part of a tile is copied while the other is summed.
inline constexpr int parts_at_once = 2;

/// Division of a tile's rows in device memory.
///
///     budget 100 GiB, columns of the tile 120 GiB:   the first 79 GiB stay, and in each pass the other 41
///     |------------ resident ------------|part|part|part|…      come in parts of 256 MiB
struct DeviceDivision {
  std::int64_t resident = 0;  ///< number of first rows whose columns stay on the device
  std::int64_t part = 0;      ///< rows of each further part; 0: all rows are resident

  friend bool operator==(const DeviceDivision&, const DeviceDivision&) = default;
};

/// Divides rows in whole blocks. Throws `Error(job_fault)` if `parts_at_once` blocks exceed the budget.
[[nodiscard]] DeviceDivision divide_rows(std::int64_t rows, std::int64_t block_rows,
                                         std::int64_t bytes_per_row, std::int64_t budget_bytes);

}  // namespace TESSERA_NAMESPACE::gam

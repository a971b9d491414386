// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstdint>

namespace TESSERA_NAMESPACE::gam {

/// Part of a device's memory budget for scratch; columns may take the rest.
inline constexpr std::int64_t scratch_share = 5;
/// Parts of a tile whose columns are on a device at once: one is copied there while the rows of the other are
/// summed.
inline constexpr int parts_at_once = 2;

/// How the rows of a tile share the memory of a device.
///
///     budget 100 GiB, columns of the tile 120 GiB:   the first 79 GiB stay, and in each pass the other 41
///     |------------ resident ------------|part|part|part|…      come in parts of 256 MiB
struct DeviceDivision {
  std::int64_t resident = 0;  ///< rows whose columns stay on the device: the first of the tile
  std::int64_t part = 0;      ///< rows of each part of the others; 0: there are no others

  friend bool operator==(const DeviceDivision&, const DeviceDivision&) = default;
};

/// Whole blocks each, but for the end of the tile. Throws `Error(job_fault)` where `parts_at_once` blocks do
/// not fit the budget. Pure.
[[nodiscard]] DeviceDivision divide_rows(std::int64_t rows, std::int64_t block_rows,
                                         std::int64_t bytes_per_row, std::int64_t budget_bytes);

}  // namespace TESSERA_NAMESPACE::gam

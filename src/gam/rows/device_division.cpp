// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/device_division.hpp"

#include <tessera/error.hpp>

#include <fmt/core.h>

#include <algorithm>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Maximum bytes of a part: large enough that the start-up time of a copy does not matter.
constexpr std::int64_t largest_part_bytes = std::int64_t{256} << 20;
/// A part takes at most 1 / part_share of the memory for columns.
constexpr std::int64_t part_share = 8;

}  // namespace

DeviceDivision divide_rows(std::int64_t rows, std::int64_t block_rows, std::int64_t bytes_per_row,
                           std::int64_t budget_bytes) {
  const std::int64_t fitting = (budget_bytes - budget_bytes / scratch_share) / bytes_per_row;
  if (rows <= fitting) return {rows, 0};
  const std::int64_t block = std::min(block_rows, rows);
  const auto whole_blocks = [&](std::int64_t some) { return some - some % block; };
  const std::int64_t part =
      std::max(block, whole_blocks(std::min(fitting / part_share, largest_part_bytes / bytes_per_row)));
  if (fitting / parts_at_once < part)
    throw Error(ErrorCode::job_fault, fmt::format("{} blocks of {} rows with {} bytes per row exceed the "
                                                  "device memory limit of {} bytes: use smaller blocks",
                                                  parts_at_once, block, bytes_per_row, budget_bytes));
  return {whole_blocks(fitting - parts_at_once * part), part};
}

}  // namespace TESSERA_NAMESPACE::gam

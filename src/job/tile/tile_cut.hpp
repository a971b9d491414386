// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstdint>

namespace TESSERA_NAMESPACE {

struct TileCut {
  std::int64_t part_units = 0;    ///< units per part, in whole blocks; 0 if no block fits
  int lanes = 1;                  ///< concurrent parts, which together fit the budget
  std::int64_t budget_bytes = 0;  ///< memory budget of one part
};

/// Cuts a tile into the fewest parts that fit the budget, rounded up to a multiple of the lanes as far as
/// whole blocks allow. The number of lanes is `most_lanes`, or less if a block would not fit a lane's budget.
/// A tile that fits is not cut.
[[nodiscard]] TileCut cut_of_tile(std::int64_t units, std::int64_t block, std::int64_t bytes_per_unit,
                                  std::int64_t budget_bytes, int most_lanes) noexcept;

}  // namespace TESSERA_NAMESPACE

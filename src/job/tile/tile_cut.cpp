// SPDX-License-Identifier: Apache-2.0
#include "job/tile/tile_cut.hpp"

#include <algorithm>

namespace TESSERA_NAMESPACE {
namespace {

constexpr std::int64_t ceiling_of(std::int64_t dividend, std::int64_t divisor) noexcept {
  return dividend / divisor + (dividend % divisor != 0 ? 1 : 0);
}

}  // namespace

TileCut cut_of_tile(std::int64_t units, std::int64_t block, std::int64_t bytes_per_unit,
                    std::int64_t budget_bytes, int most_lanes) noexcept {
  if (bytes_per_unit == 0 || budget_bytes / bytes_per_unit >= units) return {units, 1, budget_bytes};
  const std::int64_t fitting = budget_bytes / bytes_per_unit / block;
  if (fitting == 0) return {0, 1, budget_bytes};
  const std::int64_t blocks = ceiling_of(units, block);
  const std::int64_t lanes = std::min<std::int64_t>(most_lanes, fitting);
  const std::int64_t parts = ceiling_of(ceiling_of(blocks, fitting / lanes), lanes) * lanes;
  return {ceiling_of(blocks, parts) * block, static_cast<int>(lanes), budget_bytes / lanes};
}

}  // namespace TESSERA_NAMESPACE

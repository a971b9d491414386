// SPDX-License-Identifier: Apache-2.0
#include "job/tile/shared_tile.hpp"

#include <algorithm>
#include <utility>

namespace TESSERA_NAMESPACE {

void TileOutcome::add(TileOutcome&& other) {
  if (!failure) failure = std::move(other.failure);
  cut_short = cut_short || other.cut_short;
  if (!fatal) fatal = std::move(other.fatal);
  seconds = std::max(seconds, other.seconds);
}

std::optional<Range> SharedTile::take_part() noexcept {
  const std::int64_t end = planned_.units.end;
  const std::int64_t begin = next_unit_.fetch_add(cut_.part_units);
  if (begin >= end) return std::nullopt;
  return Range{begin, begin + std::min(cut_.part_units, end - begin)};
}

}  // namespace TESSERA_NAMESPACE

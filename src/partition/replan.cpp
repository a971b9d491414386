// SPDX-License-Identifier: Apache-2.0
#include "partition/replan.hpp"

#include "partition/blocks.hpp"
#include "partition/tile_layer.hpp"

#include <algorithm>

namespace TESSERA_NAMESPACE::detail {
namespace {

/// The blocks of `units`, which must begin at a block boundary and end at one or at the end of all units.
Range blocks_of(Range units, std::int64_t block) {
  const auto first_from = [block](std::int64_t unit) { return unit / block + (unit % block != 0 ? 1 : 0); };
  return {first_from(units.begin), first_from(units.end)};
}

BlockWeights weights_by_tiles(const Plan& plan, const RemainingDevices& devices) {
  std::vector<CostRun> runs;
  runs.reserve(plan.tiles().size());
  for (const PlannedTile& tile : plan.tiles()) {
    const auto device = devices.rank_offsets[static_cast<std::size_t>(tile.rank)] + tile.device;
    const std::uint64_t score = devices.scores[static_cast<std::size_t>(device)];
    const std::int64_t blocks = blocks_of(tile.units, plan.block()).size();
    // At least 1: a device of score 0 can have a tile, for example if all scores are zero.
    runs.push_back(
        {static_cast<double>(std::max<std::uint64_t>(score, 1)) / static_cast<double>(blocks), blocks});
  }
  return BlockWeights(std::move(runs));
}

std::uint64_t weight_of(const BlockWeights& weights, Range blocks) {
  std::uint64_t sum = 0;
  for (std::int64_t block = blocks.begin; block < blocks.end;) {
    const WeightRun run = weights.run_at(block);
    const std::int64_t taken = std::min(run.blocks, blocks.end - block);
    sum += run.weight * static_cast<std::uint64_t>(taken);
    block += taken;
  }
  return sum;
}

}  // namespace

std::vector<std::uint64_t> remaining_scores(std::span<const std::uint64_t> scores,
                                            const std::vector<bool>& excluded) {
  std::vector<std::uint64_t> remaining(scores.size());
  bool all_zero = true;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    remaining[i] = excluded[i] ? 0 : scores[i];
    all_zero = all_zero && remaining[i] == 0;
  }
  if (all_zero)
    for (std::size_t i = 0; i < scores.size(); ++i) remaining[i] = excluded[i] ? 0 : 1;
  return remaining;
}

bool uses_excluded(const Plan& plan, const RemainingDevices& devices) {
  return std::ranges::any_of(plan.tiles(),
                             [&](const PlannedTile& tile) { return devices.is_excluded(tile); });
}

std::optional<int> rank_without_device(const Plan& plan, const RemainingDevices& devices) {
  for (const PlannedTile& tile : plan.tiles()) {
    const auto rank = static_cast<std::size_t>(tile.rank);
    const auto first = devices.excluded.begin() + devices.rank_offsets[rank];
    const auto last = devices.excluded.begin() + devices.rank_offsets[rank + 1];
    if (std::find(first, last, false) == last) return tile.rank;
  }
  return std::nullopt;
}

Plan PlanAccess::recut(const Plan& plan, const RemainingDevices& devices) {
  const BlockWeights weights =
      plan.weighted_ ? weights_by_tiles(plan, devices) : BlockWeights(plan.units(), {.block = plan.block()});
  TileLayer layer(Blocks(plan.units(), plan.block()), weights);
  Plan other = plan;
  other.tiles_.clear();
  std::uint64_t before = 0;
  for (int rank = 0; rank < plan.ranks(); ++rank) {
    Share share{blocks_of(plan.range_of(rank), plan.block()), before, 0};
    share.weight = weight_of(weights, share.blocks);
    before += share.weight;
    const auto tiles = plan.tiles_of(rank);
    if (std::ranges::none_of(tiles, [&](const PlannedTile& tile) { return devices.is_excluded(tile); })) {
      other.tiles_.insert(other.tiles_.end(), tiles.begin(), tiles.end());
      continue;
    }
    const auto first = static_cast<std::size_t>(devices.rank_offsets[static_cast<std::size_t>(rank)]);
    const auto end = static_cast<std::size_t>(devices.rank_offsets[static_cast<std::size_t>(rank) + 1]);
    const auto scores = std::span(devices.scores).subspan(first, end - first);
    const auto left = remaining_scores(scores, {devices.excluded.begin() + static_cast<std::ptrdiff_t>(first),
                                                devices.excluded.begin() + static_cast<std::ptrdiff_t>(end)});
    layer.lay(rank, share, left, left, other.tiles_);
  }
  other.take_fingerprint();
  return other;
}

Plan PlanAccess::replanned(const Plan& plan, const RemainingDevices& devices) {
  const auto scores = remaining_scores(devices.scores, devices.excluded);
  return plan.weighted_ ? Plan::over_devices(plan.units(), plan.block(), scores, devices.rank_offsets,
                                             weights_by_tiles(plan, devices))
                        : Plan::over_devices(plan.units(), scores, devices.rank_offsets, plan.block());
}

}  // namespace TESSERA_NAMESPACE::detail

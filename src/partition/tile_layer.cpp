// SPDX-License-Identifier: Apache-2.0
#include "partition/tile_layer.hpp"

#include <algorithm>
#include <numeric>

namespace TESSERA_NAMESPACE::detail {

void TileLayer::lay(std::int32_t rank, const Share& share, std::span<const std::uint64_t> scores,
                    std::span<const std::uint64_t> order_by, std::vector<PlannedTile>& tiles) {
  const auto append = [&](std::int32_t device, Range blocks) {
    if (!blocks.empty()) tiles.push_back({rank, device, blocks_.units_of(blocks)});
  };
  if (scores.size() == 1) {  // a rank with one device, the usual case in a large job
    append(0, share.blocks);
    return;
  }
  order_.resize(scores.size());
  std::iota(order_.begin(), order_.end(), 0);
  const auto score = [&](std::int32_t device) { return order_by[static_cast<std::size_t>(device)]; };
  std::ranges::sort(order_, [&](std::int32_t a, std::int32_t b) {
    return score(a) != score(b) ? score(a) > score(b) : a < b;
  });
  // Passes the scores in the order of the tiles, because the cutter needs shares in the order of their
  // blocks.
  ordered_scores_.resize(scores.size());
  std::ranges::transform(order_, ordered_scores_.begin(),
                         [scores](std::int32_t device) { return scores[static_cast<std::size_t>(device)]; });
  const auto parts = cutter_.cut(share, ordered_scores_);
  for (std::size_t i = 0; i < order_.size(); ++i) append(order_[i], parts[i].blocks);
}

}  // namespace TESSERA_NAMESPACE::detail

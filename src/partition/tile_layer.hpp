// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "partition/block_weights.hpp"
#include "partition/blocks.hpp"
#include "partition/cutter.hpp"

#include <tessera/partition/plan.hpp>
#include <tessera/version.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::detail {

/// Cuts the shares of ranks into the tiles of their devices. Ranks must be passed in the order of their
/// blocks, each once.
class TileLayer {
 public:
  TileLayer(const Blocks& blocks, const BlockWeights& weights) : blocks_(blocks), cutter_(weights) {}

  /// Appends the tiles of a rank's devices, by descending `order`. Blocks are apportioned by `scores`.
  void lay(std::int32_t rank, const Share& share, std::span<const std::uint64_t> scores,
           std::span<const std::uint64_t> order, std::vector<PlannedTile>& tiles);

 private:
  Blocks blocks_;
  Cutter cutter_;
  std::vector<std::int32_t> order_;  ///< devices in the order of their tiles
  std::vector<std::uint64_t> ordered_scores_;
};

}  // namespace TESSERA_NAMESPACE::detail

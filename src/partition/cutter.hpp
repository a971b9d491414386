// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "partition/apportion.hpp"
#include "partition/block_weights.hpp"

#include <tessera/partition/plan.hpp>
#include <tessera/version.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::detail {

/// Consecutive blocks of the job, a rank or a device, with their weight.
struct Share {
  Range blocks;
  std::uint64_t before = 0;  ///< weight of the job's blocks before `blocks`
  std::uint64_t weight = 0;
};

/// Cuts blocks into shares by scores. Shares must be cut in the order of their blocks, each once.
class Cutter {
 public:
  explicit Cutter(const BlockWeights& weights) : walk_(weights) {}

  /// One part of `whole` for each of `scores`, valid until the next call. Apportions the weight of `whole`,
  /// and cuts at the block boundaries nearest to the cumulative shares. If `whole` has no weight, apportions
  /// the number of blocks.
  [[nodiscard]] std::span<const Share> cut(const Share& whole, std::span<const std::uint64_t> scores);

 private:
  [[nodiscard]] WeightWalk::Cut end_of(const Share& whole, std::uint64_t taken);

  WeightWalk walk_;
  ApportionWorkspace workspace_;
  std::vector<std::int64_t> quotas_;
  std::vector<Share> parts_;
};

}  // namespace TESSERA_NAMESPACE::detail

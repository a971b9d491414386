// SPDX-License-Identifier: Apache-2.0
#include "partition/cutter.hpp"

namespace TESSERA_NAMESPACE::detail {

std::span<const Share> Cutter::cut(const Share& whole, std::span<const std::uint64_t> scores) {
  quotas_.resize(scores.size());
  parts_.resize(scores.size());
  const bool weighs = whole.weight > 0;
  apportion(weighs ? static_cast<std::int64_t>(whole.weight) : whole.blocks.size(), scores, quotas_,
            workspace_);
  std::int64_t taken = 0;
  WeightWalk::Cut begin{whole.blocks.begin, whole.before};
  for (std::size_t i = 0; i < scores.size(); ++i) {
    taken += quotas_[i];
    const WeightWalk::Cut end = weighs ? end_of(whole, static_cast<std::uint64_t>(taken))
                                       : WeightWalk::Cut{whole.blocks.begin + taken, whole.before};
    parts_[i] = {{begin.block, end.block}, begin.before, end.before - begin.before};
    begin = end;
  }
  return parts_;
}

/// The cut after the shares that together have the weight `taken`. Blocks of weight zero at either end of
/// `whole` go to the first or last share of positive weight, so that a score of zero gets no block.
WeightWalk::Cut Cutter::end_of(const Share& whole, std::uint64_t taken) {
  if (taken == 0) return {whole.blocks.begin, whole.before};
  if (taken == whole.weight) return {whole.blocks.end, whole.before + whole.weight};
  return walk_.nearest(whole.before + taken);
}

}  // namespace TESSERA_NAMESPACE::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/function.hpp>
#include <tessera/partition/plan.hpp>
#include <tessera/version.hpp>

#include <cstdint>
#include <vector>

namespace TESSERA_NAMESPACE::detail {

/// Consecutive blocks of equal weight. A weight is a cost scaled to an integer.
struct WeightRun {
  std::uint64_t weight = 0;
  std::int64_t blocks = 0;
};

/// Consecutive blocks of equal cost: `each` is the cost of one block.
struct CostRun {
  double each = 0;
  std::int64_t blocks = 0;
};

/// The weights of a plan's blocks: integers without a common divisor, whose total is below 2^63, in
/// proportion to the costs (`weights` or `block_weights` of `PlanOptions`). Integer costs up to about
/// 2^60 / units are represented exactly. If all costs are zero, or no costs are given, every block has
/// weight 1.
///
/// Weights are not stored: each use evaluates the functions and ranges of the options again.
class BlockWeights {
 public:
  /// Throws `Error(usage)` for a cost that is negative or not finite, a range of costs with a wrong size, or
  /// costs of both units and blocks.
  BlockWeights(std::int64_t units, const PlanOptions& options);
  /// `runs` must cover all blocks, in order.
  explicit BlockWeights(std::vector<CostRun> runs);

  [[nodiscard]] std::uint64_t total() const noexcept { return total_; }
  /// The rest of the run that contains `block`, from `block` on.
  [[nodiscard]] WeightRun run_at(std::int64_t block) const;

 private:
  void weigh(std::int64_t blocks, std::int64_t costs, double largest);

  SharedFunction<WeightRun(std::int64_t block, double scale)> run_at_;  ///< yields weights before their
                                                                        ///< division by `divisor_`
  double scale_ = 0;
  std::uint64_t divisor_ = 1;
  std::uint64_t total_ = 0;
};

/// Finds cuts between blocks by weight, in one pass over the blocks.
class WeightWalk {
 public:
  /// A cut between blocks, and the weight of the blocks before it.
  struct Cut {
    std::int64_t block = 0;
    std::uint64_t before = 0;
  };

  explicit WeightWalk(const BlockWeights& weights) : weights_(&weights) {}

  /// The cut for which the weight of the blocks before it is nearest to `target`; ties: the later cut.
  /// `target` must be above 0, below the total weight, and not below the target of an earlier call.
  [[nodiscard]] Cut nearest(std::uint64_t target);

 private:
  const BlockWeights* weights_;
  Cut begin_{};  ///< start of `run_`
  WeightRun run_{};
};

}  // namespace TESSERA_NAMESPACE::detail

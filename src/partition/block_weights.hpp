// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/function.hpp>
#include <tessera/partition/plan.hpp>
#include <tessera/version.hpp>

#include <cstdint>
#include <vector>

namespace TESSERA_NAMESPACE::detail {

/// Consecutive blocks of one weight.
struct WeightRun {
  std::uint64_t weight = 0;
  std::int64_t blocks = 0;
};

/// Blocks of the cost `each`.
struct CostRun {
  double each = 0;
  std::int64_t blocks = 0;
};

/// The weights of a plan's blocks: integers without a common divisor, whose total is below 2^63. They keep as
/// many bits of the given costs as fit, so that integers up to some 2^60 / units are exact. If all costs are
/// zero, or none are given, every block weighs 1.
///
/// Weights are not stored: functions and ranges of the options are evaluated again for each use.
class BlockWeights {
 public:
  /// Throws `Error(usage)` for a cost that is negative or not finite, a range of another size, or costs of
  /// units and of blocks at once.
  BlockWeights(std::int64_t units, const PlanOptions& options);
  /// Costs given by runs, which cover all blocks.
  explicit BlockWeights(std::vector<CostRun> runs);

  [[nodiscard]] std::uint64_t total() const noexcept { return total_; }
  /// The run that begins at `block`, or the rest of it.
  [[nodiscard]] WeightRun run_at(std::int64_t block) const;

 private:
  void weigh(std::int64_t blocks, std::int64_t costs, double largest);

  SharedFunction<WeightRun(std::int64_t block, double scale)> run_at_;  ///< undivided
  double scale_ = 0;
  std::uint64_t divisor_ = 1;
  std::uint64_t total_ = 0;
};

/// Cuts blocks by weight, in one walk over them.
class WeightWalk {
 public:
  /// A cut between blocks, and the weight of those before it.
  struct Cut {
    std::int64_t block = 0;
    std::uint64_t before = 0;
  };

  explicit WeightWalk(const BlockWeights& weights) : weights_(&weights) {}

  /// The cut with the weight before it nearest to `target`; ties: the later. `target` is above 0, below the
  /// total, and not below the target of an earlier call.
  [[nodiscard]] Cut nearest(std::uint64_t target);

 private:
  const BlockWeights* weights_;
  Cut begin_{};  ///< of `run_`
  WeightRun run_{};
};

}  // namespace TESSERA_NAMESPACE::detail

// SPDX-License-Identifier: Apache-2.0
#include "partition/block_weights.hpp"

#include "partition/blocks.hpp"

#include <tessera/error.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

namespace TESSERA_NAMESPACE::detail {
namespace {

double checked(double cost, const char* what, std::int64_t index) {
  if (!std::isfinite(cost) || cost < 0)
    throw Error(ErrorCode::usage, std::string("the weight of ") + what + ' ' + std::to_string(index) +
                                      " is " + std::to_string(cost) + ": give a finite weight of 0 or more");
  return cost;
}

/// Checks the weights of `count` units or blocks, and returns the largest.
double largest_of(const PlanWeights& weights, const char* what, std::int64_t count) {
  if (const auto size = weights.size(); size && *size != count)
    throw Error(ErrorCode::usage, "there are " + std::to_string(*size) + " weights of " +
                                      std::to_string(count) + ' ' + what +
                                      "s: give one weight for each, on every rank");
  double largest = 0;
  for (std::int64_t i = 0; i < count; ++i) largest = std::max(largest, checked(weights(i), what, i));
  return largest;
}

/// Rounds up, so that a positive cost stays positive.
std::uint64_t scaled(double cost, double scale) {
  const double exact = cost * scale;
  const auto below = static_cast<std::uint64_t>(exact);
  return below + (static_cast<double>(below) < exact ? 1 : 0);
}

/// A power of two that scales `count` costs of at most `largest` to integers whose sum is below 2^63.
double scale_of(std::int64_t count, double largest) {
  int exponent = 0;
  (void)std::frexp(largest, &exponent);
  const int count_bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(count)));
  return std::ldexp(1.0, std::min(62 - count_bits - exponent, 1000));
}

}  // namespace

BlockWeights::BlockWeights(std::int64_t units, const PlanOptions& options) {
  if (options.weights && options.block_weights)
    throw Error(ErrorCode::usage,
                "a plan has both weights of units and weights of blocks: give only one kind");
  const Blocks cut(units, options.block);
  const std::int64_t blocks = cut.count();
  if (options.weights) {
    run_at_ = [weights = options.weights, cut](std::int64_t block, double scale) {
      const Range range = cut.units_of({block, block + 1});
      std::uint64_t sum = 0;
      for (std::int64_t unit = range.begin; unit < range.end; ++unit) sum += scaled(weights(unit), scale);
      return WeightRun{sum, 1};
    };
    weigh(blocks, units, largest_of(options.weights, "unit", units));
  } else if (options.block_weights) {
    run_at_ = [weights = options.block_weights](std::int64_t block, double scale) {
      return WeightRun{scaled(weights(block), scale), 1};
    };
    weigh(blocks, blocks, largest_of(options.block_weights, "block", blocks));
  } else {
    weigh(blocks, blocks, 0);
  }
}

BlockWeights::BlockWeights(std::vector<CostRun> runs) {
  std::vector<std::int64_t> ends;
  std::int64_t blocks = 0;
  double largest = 0;
  for (const CostRun& run : runs) {
    ends.push_back(blocks += run.blocks);
    largest = std::max(largest, run.each);
  }
  run_at_ = [runs = std::move(runs), ends = std::move(ends)](std::int64_t block, double scale) {
    const auto end = std::ranges::upper_bound(ends, block);
    return WeightRun{scaled(runs[static_cast<std::size_t>(end - ends.begin())].each, scale), *end - block};
  };
  weigh(blocks, blocks, largest);
}

void BlockWeights::weigh(std::int64_t blocks, std::int64_t costs, double largest) {
  if (largest > 0) {
    scale_ = scale_of(costs, largest);
    std::uint64_t divisor = 0;
    for (std::int64_t block = 0; block < blocks;) {
      const WeightRun run = run_at_(block, scale_);
      if (divisor == 0 || run.weight % divisor != 0) divisor = std::gcd(divisor, run.weight);
      total_ += run.weight * static_cast<std::uint64_t>(run.blocks);
      block += run.blocks;
    }
    divisor_ = divisor;
    total_ /= divisor;
  } else {
    run_at_ = [blocks](std::int64_t block, double) { return WeightRun{1, blocks - block}; };
    total_ = static_cast<std::uint64_t>(blocks);
  }
}

WeightRun BlockWeights::run_at(std::int64_t block) const {
  WeightRun run = run_at_(block, scale_);
  run.weight /= divisor_;
  return run;
}

WeightWalk::Cut WeightWalk::nearest(std::uint64_t target) {
  for (;;) {
    const std::uint64_t weight = run_.weight * static_cast<std::uint64_t>(run_.blocks);
    if (begin_.before + weight >= target) break;
    begin_.block += run_.blocks;
    begin_.before += weight;
    run_ = weights_->run_at(begin_.block);
  }
  const std::uint64_t below = (target - begin_.before - 1) / run_.weight;  // blocks that end below the target
  const std::uint64_t lower = begin_.before + below * run_.weight;
  const bool later = lower + run_.weight - target <= target - lower;
  return {begin_.block + static_cast<std::int64_t>(below) + (later ? 1 : 0),
          later ? lower + run_.weight : lower};
}

}  // namespace TESSERA_NAMESPACE::detail

// SPDX-License-Identifier: Apache-2.0
#include <tessera/error.hpp>
#include <tessera/partition/plan.hpp>

#include "base/hash.hpp"
#include "partition/apportion.hpp"
#include "partition/block_weights.hpp"
#include "partition/blocks.hpp"
#include "partition/cutter.hpp"
#include "partition/tile_layer.hpp"

#include <algorithm>
#include <limits>
#include <string>

namespace TESSERA_NAMESPACE {
namespace {

void check_ranks(std::size_t ranks) {
  if (ranks < 1 || ranks > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw Error(ErrorCode::usage,
                "cannot make a plan over " + std::to_string(ranks) + " ranks: give 1 to 2^31 - 1");
}

void check_offsets(std::span<const std::uint64_t> scores, std::span<const std::int64_t> offsets) {
  check_ranks(offsets.empty() ? 0 : offsets.size() - 1);
  if (offsets.front() != 0 || offsets.back() != static_cast<std::int64_t>(scores.size()) ||
      !std::is_sorted(offsets.begin(), offsets.end()))
    throw Error(ErrorCode::usage, "rank offsets must increase from 0 to the number of scores, " +
                                      std::to_string(scores.size()));
}

void check_rank(int rank, int ranks) {
  if (rank < 0 || rank >= ranks)
    throw Error(ErrorCode::usage, "rank " + std::to_string(rank) + " is out of range: the plan has " +
                                      std::to_string(ranks) + " ranks, numbered from 0");
}

/// The sum of the scores of each rank; if all scores are zero, the rank's number of devices.
std::vector<std::uint64_t> totals_of_ranks(std::span<const std::uint64_t> scores,
                                           std::span<const std::int64_t> offsets) {
  const auto devices_of = [&](std::size_t r) {
    return static_cast<std::size_t>(offsets[r + 1] - offsets[r]);
  };
  std::vector<std::uint64_t> totals(offsets.size() - 1);
  bool all_zero = true;
  for (std::size_t r = 0; r < totals.size(); ++r) {
    totals[r] = detail::total_score(scores.subspan(static_cast<std::size_t>(offsets[r]), devices_of(r)));
    all_zero = all_zero && totals[r] == 0;
  }
  if (all_zero)
    for (std::size_t r = 0; r < totals.size(); ++r) totals[r] = devices_of(r);
  return totals;
}

std::vector<std::uint64_t> scores_of_hosts(std::span<const int> threads) {
  check_ranks(threads.size());
  std::vector<std::uint64_t> scores;
  scores.reserve(threads.size());
  for (const int count : threads) {
    if (count < 1)
      throw Error(ErrorCode::usage, "cannot make a plan over hosts: rank " + std::to_string(scores.size()) +
                                        " has " + std::to_string(count) + " threads: give 1 or more");
    scores.push_back(static_cast<std::uint64_t>(count));
  }
  return scores;
}

}  // namespace

Plan::Plan(std::int64_t units, std::int64_t block, std::span<const detail::Share> ranks)
    : units_(units), block_(block) {
  const detail::Blocks blocks(units, block);
  rank_begins_.reserve(ranks.size() + 1);
  rank_shares_.reserve(ranks.size());
  const auto total = static_cast<double>(ranks.back().before + ranks.back().weight);
  for (const detail::Share& rank : ranks) {
    rank_begins_.push_back(blocks.units_of(rank.blocks).begin);
    rank_shares_.push_back(total > 0 ? static_cast<double>(rank.weight) / total : 0);
  }
  rank_begins_.push_back(units);
}

Plan Plan::over_devices(std::int64_t units, std::span<const std::uint64_t> scores,
                        std::span<const std::int64_t> rank_offsets, const PlanOptions& options) {
  check_offsets(scores, rank_offsets);
  return over_devices(units, options.block, scores, rank_offsets, detail::BlockWeights(units, options));
}

Plan Plan::over_devices(std::int64_t units, std::int64_t block, std::span<const std::uint64_t> scores,
                        std::span<const std::int64_t> rank_offsets, const detail::BlockWeights& weights,
                        std::span<const std::uint64_t> order) {
  if (scores.empty()) return over_hosts(units, block, std::vector<int>(rank_offsets.size() - 1, 1), weights);
  const detail::Blocks blocks(units, block);
  detail::Cutter cutter_of_job(weights);
  const auto ranks =
      cutter_of_job.cut({{0, blocks.count()}, 0, weights.total()}, totals_of_ranks(scores, rank_offsets));
  Plan plan(units, block, ranks);
  plan.on_devices_ = true;
  plan.weighted_ = blocks.count() > 0 && weights.run_at(0).blocks < blocks.count();
  plan.tiles_.reserve(scores.size());
  detail::TileLayer layer(blocks, weights);
  if (order.empty()) order = scores;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const auto first = static_cast<std::size_t>(rank_offsets[r]);
    const auto count = static_cast<std::size_t>(rank_offsets[r + 1]) - first;
    layer.lay(static_cast<std::int32_t>(r), ranks[r], scores.subspan(first, count),
              order.subspan(first, count), plan.tiles_);
  }
  plan.take_fingerprint();
  return plan;
}

Plan Plan::over_hosts(std::int64_t units, int ranks, std::int64_t block) {
  check_ranks(ranks < 0 ? 0 : static_cast<std::size_t>(ranks));
  return over_hosts(units, std::vector<int>(static_cast<std::size_t>(ranks), 1), block);
}

Plan Plan::over_hosts(std::int64_t units, std::span<const int> threads, const PlanOptions& options) {
  return over_hosts(units, options.block, threads, detail::BlockWeights(units, options));
}

Plan Plan::over_hosts(std::int64_t units, std::int64_t block, std::span<const int> threads,
                      const detail::BlockWeights& weights) {
  detail::Cutter cutter(weights);
  const Range all{0, detail::Blocks(units, block).count()};
  Plan plan(units, block, cutter.cut({all, 0, weights.total()}, scores_of_hosts(threads)));
  plan.take_fingerprint();
  return plan;
}

void Plan::take_fingerprint() noexcept {
  std::uint64_t hash = base::fnv1a_start;
  // FNV-1a by words for speed: a large plan has millions of bytes. The shift mixes high bits into low ones.
  const auto add = [&hash](std::int64_t word) {
    hash = base::fnv1a_step(hash, static_cast<std::uint64_t>(word));
    hash ^= hash >> 32;
  };
  for (const std::int64_t word : {units_, block_, std::int64_t{on_devices_ ? 1 : 0}}) add(word);
  for (const std::int64_t begin : rank_begins_) add(begin);
  for (const PlannedTile& tile : tiles_) {
    add((static_cast<std::int64_t>(tile.rank) << 32) | tile.device);
    add(tile.units.begin);
    add(tile.units.end);
  }
  fingerprint_ = hash;
}

std::span<const PlannedTile> Plan::tiles() const& noexcept {
  return tiles_;
}

std::span<const PlannedTile> Plan::tiles_of(int rank) const& {
  check_rank(rank, ranks());
  const auto first = std::partition_point(tiles_.begin(), tiles_.end(),
                                          [rank](const PlannedTile& tile) { return tile.rank < rank; });
  const auto last = std::partition_point(first, tiles_.end(),
                                         [rank](const PlannedTile& tile) { return tile.rank == rank; });
  return {first, last};
}

Range Plan::range_of(int rank) const {
  check_rank(rank, ranks());
  const auto r = static_cast<std::size_t>(rank);
  return {rank_begins_[r], rank_begins_[r + 1]};
}

double Plan::share_of(int rank) const {
  check_rank(rank, ranks());
  return rank_shares_[static_cast<std::size_t>(rank)];
}

}  // namespace TESSERA_NAMESPACE

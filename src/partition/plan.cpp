// SPDX-License-Identifier: Apache-2.0
#include <tessera/error.hpp>
#include <tessera/partition/plan.hpp>

#include "base/hash.hpp"
#include "partition/apportion.hpp"
#include "partition/device_order.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace tessera::inline TESSERA_ABI {
namespace {

/// Blocks laid one after another, as ranges of units: the last block of the job may be short.
class Blocks {
 public:
  Blocks(std::int64_t units, std::int64_t block) : units_(units), block_(block) {
    if (units < 0)
      throw Error(ErrorCode::usage, "cannot plan " + std::to_string(units) + " units: give 0 or more");
    if (block < 1)
      throw Error(ErrorCode::usage, "a block of " + std::to_string(block) + " units: give 1 or more");
    count_ = units / block + (units % block != 0 ? 1 : 0);
  }

  [[nodiscard]] std::int64_t count() const { return count_; }

  /// Of the first block that is not taken. The product is below `units`, so it cannot overflow.
  [[nodiscard]] std::int64_t first_unit() const { return taken_ == count_ ? units_ : taken_ * block_; }

  Range take(std::int64_t blocks) {
    const std::int64_t begin = first_unit();
    taken_ += blocks;
    return {begin, first_unit()};
  }

 private:
  std::int64_t units_;
  std::int64_t block_;
  std::int64_t count_ = 0;
  std::int64_t taken_ = 0;
};

void check_ranks(std::size_t ranks) {
  if (ranks < 1 || ranks > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw Error(ErrorCode::usage, "cannot plan over " + std::to_string(ranks) + " ranks: give 1 to 2^31 - 1");
}

void check_offsets(std::span<const std::uint64_t> scores, std::span<const std::int64_t> offsets) {
  check_ranks(offsets.empty() ? 0 : offsets.size() - 1);
  if (offsets.front() != 0 || offsets.back() != static_cast<std::int64_t>(scores.size()) ||
      !std::is_sorted(offsets.begin(), offsets.end()))
    throw Error(ErrorCode::usage,
                "rank offsets must grow from 0 to the number of scores, " + std::to_string(scores.size()));
}

void check_rank(int rank, int ranks) {
  if (rank < 0 || rank >= ranks)
    throw Error(ErrorCode::usage, "rank " + std::to_string(rank) + " is not in this plan of " +
                                      std::to_string(ranks) + " ranks, numbered from 0");
}

/// Blocks of each rank into `shares`, by its total score. If all are zero, an even split over the ranks
/// with a device.
void apportion_ranks(std::int64_t blocks, std::span<const std::uint64_t> scores,
                     std::span<const std::int64_t> offsets, std::span<std::int64_t> shares,
                     detail::ApportionWorkspace& workspace) {
  const auto devices_of = [&](std::size_t r) {
    return static_cast<std::size_t>(offsets[r + 1] - offsets[r]);
  };
  std::vector<std::uint64_t> totals(offsets.size() - 1);
  bool all_zero = true;
  for (std::size_t r = 0; r < totals.size(); ++r) {
    totals[r] = detail::total_score(scores.subspan(static_cast<std::size_t>(offsets[r]), devices_of(r)));
    all_zero = all_zero && totals[r] == 0;
  }
  if (all_zero)  // equal scores give just that split
    for (std::size_t r = 0; r < totals.size(); ++r) totals[r] = devices_of(r) > 0 ? 1 : 0;
  detail::apportion(blocks, totals, shares, workspace);
}

}  // namespace

Plan Plan::over_devices(std::int64_t units, std::span<const std::uint64_t> scores,
                        std::span<const std::int64_t> rank_offsets, std::int64_t block) {
  check_offsets(scores, rank_offsets);
  const std::size_t ranks = rank_offsets.size() - 1;
  if (scores.empty()) return over_hosts(units, static_cast<int>(ranks), block);

  Blocks blocks(units, block);
  Plan plan;
  plan.units_ = units;
  plan.block_ = block;
  plan.on_devices_ = true;
  plan.tiles_.reserve(scores.size());
  // Holds how many blocks each rank gets until its turn, then where they begin.
  auto& begins = plan.rank_begins_;
  begins.resize(ranks + 1);
  detail::ApportionWorkspace workspace;
  apportion_ranks(blocks.count(), scores, rank_offsets, std::span(begins).first(ranks), workspace);

  const auto lay = [&](std::size_t rank, std::int32_t device, std::int64_t share) {
    const Range tile = blocks.take(share);
    if (!tile.empty()) plan.tiles_.push_back({static_cast<std::int32_t>(rank), device, tile});
  };

  detail::DeviceOrder order_of_devices;
  std::vector<std::uint64_t> ordered_scores;
  std::vector<std::int64_t> shares;
  for (std::size_t r = 0; r < ranks; ++r) {
    const auto first = static_cast<std::size_t>(rank_offsets[r]);
    const auto mine = scores.subspan(first, static_cast<std::size_t>(rank_offsets[r + 1]) - first);
    const std::int64_t share = std::exchange(begins[r], blocks.first_unit());
    if (mine.size() == 1) {  // the usual case in a large job
      lay(r, 0, share);
      continue;
    }
    const auto order = order_of_devices.by_score(mine);
    // Apportioned in this order, so that memory is walked in order too: ties go the same way.
    ordered_scores.resize(mine.size());
    std::transform(order.begin(), order.end(), ordered_scores.begin(),
                   [](auto& device) { return device.score; });
    shares.resize(mine.size());
    detail::apportion(share, ordered_scores, shares, workspace);
    for (std::size_t i = 0; i < order.size(); ++i) lay(r, order[i].index, shares[i]);
  }
  begins[ranks] = units;
  plan.take_fingerprint();
  return plan;
}

Plan Plan::over_hosts(std::int64_t units, int ranks, std::int64_t block) {
  check_ranks(ranks < 0 ? 0 : static_cast<std::size_t>(ranks));
  return over_hosts(units, std::vector<int>(static_cast<std::size_t>(ranks), 1), block);
}

Plan Plan::over_hosts(std::int64_t units, std::span<const int> threads, std::int64_t block) {
  check_ranks(threads.size());
  std::vector<std::uint64_t> scores;
  scores.reserve(threads.size());
  for (const int count : threads) {
    if (count < 1)
      throw Error(ErrorCode::usage, "cannot plan over the hosts: rank " + std::to_string(scores.size()) +
                                        " has " + std::to_string(count) + " threads: give 1 or more");
    scores.push_back(static_cast<std::uint64_t>(count));
  }
  Blocks blocks(units, block);
  std::vector<std::int64_t> shares(scores.size());
  detail::ApportionWorkspace workspace;
  detail::apportion(blocks.count(), scores, shares, workspace);
  Plan plan;
  plan.units_ = units;
  plan.block_ = block;
  plan.rank_begins_.reserve(shares.size() + 1);
  for (const std::int64_t share : shares) plan.rank_begins_.push_back(blocks.take(share).begin);
  plan.rank_begins_.push_back(units);
  plan.take_fingerprint();
  return plan;
}

void Plan::take_fingerprint() noexcept {
  std::uint64_t hash = base::fnv1a_start;
  // FNV-1a of words in place of bytes: a large plan has millions. The shift brings high bits down, too.
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

}  // namespace tessera::inline TESSERA_ABI

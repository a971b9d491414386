// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace tessera::inline TESSERA_ABI {

/// A half-open range of units, `[begin, end)`.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  [[nodiscard]] std::int64_t size() const noexcept { return end - begin; }
  [[nodiscard]] bool empty() const noexcept { return begin >= end; }
  friend bool operator==(const Range&, const Range&) = default;
};

/// The tile of one device: `device` is the index among the claimed devices of `rank` in inventory order.
struct PlannedTile {
  std::int32_t rank = 0;
  std::int32_t device = 0;
  Range units;

  friend bool operator==(const PlannedTile&, const PlannedTile&) = default;
};

/// Partitions units over the devices of all ranks: a pure function of the inventory's scores and the number
/// of units, so that every rank computes the same plan without communication.
///
///     // rank 0 has devices scored 100 and 50, rank 1 one scored 75, rank 2 one scored 0
///     const std::vector<std::uint64_t> scores{100, 50, 75, 0};
///     const std::vector<std::int64_t> rank_offsets{0, 2, 3, 4};
///     const auto plan = Plan::over_devices(1000, scores, rank_offsets);
///     // rank 0: [0, 667): device 0 [0, 445), device 1 [445, 667); rank 1: [667, 1000); rank 2: nothing
///
/// Units are apportioned twice by largest remainders: over ranks by their total scores, then within a rank
/// over its devices. Ranks are in rank order, the devices of a rank in the order of descending scores, ties
/// to the lower index; a device with an empty share has no tile. If all scores are zero, the split over
/// devices is even. A rank without a device gets no units. Each of the two steps is within one unit (one
/// block) of proportional; a device's share of the whole job, the result of both, may differ by a little
/// more.
///
/// With `block > 1` whole blocks are apportioned, so that every tile begins at a multiple of `block`, which a
/// reproducible reduction needs. The last block of the job may be short.
class TESSERA_EXPORT Plan {
 public:
  Plan() = default;

  /// `scores` from `rank_offsets[r]` up to `rank_offsets[r + 1]` are the devices of rank r; `rank_offsets`
  /// has one more element than there are ranks. Without any device this is `over_hosts`. Throws
  /// `Error(usage)` on a negative `units`, a `block` below 1, offsets that do not fit the scores, or scores
  /// whose total does not fit 64 bits. Cost: O(ranks + devices); a million devices take some hundredths of a
  /// second.
  [[nodiscard]] static Plan over_devices(std::int64_t units, std::span<const std::uint64_t> scores,
                                         std::span<const std::int64_t> rank_offsets, std::int64_t block = 1);

  /// An even split over the host of every rank, for a job without devices. It has no tiles. Throws
  /// `Error(usage)` on a negative `units`, or `ranks` or a `block` below 1.
  [[nodiscard]] static Plan over_hosts(std::int64_t units, int ranks, std::int64_t block = 1);
  /// A split in proportion to the threads of each rank: within one block of proportional, ties to the lower
  /// rank. Throws `Error(usage)` too if there is no rank, or one with less than one thread.
  [[nodiscard]] static Plan over_hosts(std::int64_t units, std::span<const int> threads,
                                       std::int64_t block = 1);

  [[nodiscard]] std::int64_t units() const noexcept { return units_; }
  [[nodiscard]] std::int64_t block() const noexcept { return block_; }
  [[nodiscard]] int ranks() const noexcept {
    return rank_begins_.empty() ? 0 : static_cast<int>(rank_begins_.size() - 1);
  }

  /// False if the plan is over hosts, without tiles.
  [[nodiscard]] bool on_devices() const noexcept { return on_devices_; }

  /// All tiles of the job in order of their first units. The span is valid as long as the plan.
  [[nodiscard]] std::span<const PlannedTile> tiles() const& noexcept { return tiles_; }
  [[nodiscard]] std::span<const PlannedTile> tiles() const&& = delete;

  /// The tiles of one rank in order of their first unit. Throws `Error(usage)` for an unknown rank.
  /// Cost: O(log tiles).
  [[nodiscard]] std::span<const PlannedTile> tiles_of(int rank) const&;
  [[nodiscard]] std::span<const PlannedTile> tiles_of(int rank) const&& = delete;

  /// The units of one rank, all its tiles together. Throws `Error(usage)` for an unknown rank.
  [[nodiscard]] Range range_of(int rank) const;

  /// A hash of the plan, by which ranks detect that their plans differ. May change between versions.
  [[nodiscard]] std::uint64_t fingerprint() const noexcept { return fingerprint_; }

 private:
  void take_fingerprint() noexcept;

  std::int64_t units_ = 0;
  std::int64_t block_ = 1;
  bool on_devices_ = false;
  std::vector<PlannedTile> tiles_;
  std::vector<std::int64_t> rank_begins_;  // units of rank r: [rank_begins_[r], rank_begins_[r + 1])
  std::uint64_t fingerprint_ = 0;          // of all the above
};

}  // namespace tessera::inline TESSERA_ABI

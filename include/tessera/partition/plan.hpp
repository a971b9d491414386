// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/function.hpp>
#include <tessera/version.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE {

namespace detail {
class BlockWeights;
struct PlanAccess;
struct Share;
}  // namespace detail

/// A half-open range of units, `[begin, end)`.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  [[nodiscard]] std::int64_t size() const noexcept { return end - begin; }
  [[nodiscard]] bool empty() const noexcept { return begin >= end; }
  friend bool operator==(const Range&, const Range&) = default;
};

/// The consecutive units of one device. `device` is the index among the claimed devices of `rank`, in the
/// order of the inventory.
struct PlannedTile {
  std::int32_t rank = 0;
  std::int32_t device = 0;
  Range units;

  friend bool operator==(const PlannedTile&, const PlannedTile&) = default;
};

/// The work of each unit or block of a plan, in any measure: nonzeros, bytes, seconds. Either a function of
/// the index or a contiguous range of numbers, one per unit or block; zeros are allowed. A range that is a
/// named variable is held by reference and must outlive this object; a temporary range and a function are
/// stored.
class PlanWeights {
 public:
  PlanWeights() = default;
  // NOLINTBEGIN(google-explicit-constructor, bugprone-forwarding-reference-overload): implicit by design
  template <class Function>
  requires(!std::is_same_v<std::remove_cvref_t<Function>, PlanWeights> &&
           detail::Calls<std::decay_t<Function>, double, std::int64_t>) PlanWeights(Function&& function)
      : at_(std::forward<Function>(function)) {}
  template <class Numbers>
  requires std::is_arithmetic_v<typename decltype(std::span(std::declval<Numbers&>()))::value_type>
  PlanWeights(Numbers&& numbers)
      : size_(static_cast<std::int64_t>(std::span(numbers).size())),
        at_([kept = Kept<Numbers>(std::forward<Numbers>(numbers))](std::int64_t index) {
          return static_cast<double>(kept[static_cast<std::size_t>(index)]);
        }) {}
  // NOLINTEND(google-explicit-constructor, bugprone-forwarding-reference-overload)

  /// False without weights.
  explicit operator bool() const noexcept { return static_cast<bool>(at_); }
  /// The number of weights, if they were given as a range; `nullopt` if they were given as a function.
  [[nodiscard]] std::optional<std::int64_t> size() const noexcept { return size_; }
  [[nodiscard]] double operator()(std::int64_t index) const { return at_(index); }

 private:
  /// A span of a variable, or the stored temporary.
  template <class Numbers>
  using Kept = std::conditional_t<std::is_lvalue_reference_v<Numbers>,
                                  decltype(std::span(std::declval<Numbers&>())), Numbers>;

  std::optional<std::int64_t> size_;
  SharedFunction<double(std::int64_t)> at_;
};

/// Options of a plan. They must be the same on every rank.
struct PlanOptions {
  /// Units per block. The order of arithmetic within a block is fixed, and tiles consist of whole blocks.
  std::int64_t block = 1;
  /// The work of each unit. Without weights all blocks count as equal.
  PlanWeights weights{};
  /// The work of each block; an alternative to `weights`.
  PlanWeights block_weights{};
};

/// A partition of units (items of data, numbered from 0) over the devices of all ranks. It is a pure function
/// of the number of units and of the devices' *scores* (relative speeds), so that every rank computes the
/// same plan without communication. The units of one device are its *tile*.
///
///     // rank 0 has devices scored 100 and 50, rank 1 one scored 75, rank 2 one scored 0
///     const std::vector<std::uint64_t> scores{100, 50, 75, 0};
///     const std::vector<std::int64_t> rank_offsets{0, 2, 3, 4};
///     const auto plan = Plan::over_devices(1000, scores, rank_offsets);
///     // rank 0: [0, 667): device 0 [0, 445), device 1 [445, 667); rank 1: [667, 1000); rank 2: nothing
///
/// Units are apportioned twice by largest remainders: over ranks by their total scores, then within a rank
/// over its devices. Ranks get consecutive units in rank order, and the devices of a rank in the order of
/// descending scores, ties in the order of their indices. A device with an empty share has no tile. If all
/// scores are zero, the split over devices is even. A rank without a device gets no units. Each of the two
/// steps gives shares within one unit (one block) of the exact proportion; the share of a device in the whole
/// job may differ by a little more.
///
/// With `block > 1` whole blocks are apportioned, so that every tile begins at a multiple of `block`, as
/// reproducible reductions require. The last block of the job may be short.
///
/// With weights (`PlanOptions::weights`) the same two steps apportion the total weight. Each cut between
/// tiles is made where the sum of the weights before it is nearest to the sum of the shares before it, ties
/// to the later cut. Each cut is thus within half a block's weight of its exact position, and no contiguous
/// partition is closer at any cut. Equal weights give the plan without weights.
///
///     // 4 devices of one speed; the last units are ten times the work
///     job.plan(1000, {.weights = [](std::int64_t unit) { return unit < 900 ? 1.0 : 10.0; }});
///     // [0, 475), [475, 905), [905, 953), [953, 1000)
///
/// Weights are converted to integers, whose sums are exact and the same on every rank: each of n weights
/// keeps 61 - log2(n) bits relative to the largest, so integers below 2^61 / n are exact. Every rank must
/// give the same weights: a function of the index needs no memory; a range holds the weights of all units of
/// the job, not only the rank's. Ranks whose plans differ get an `Error(usage)` in the first pass.
class TESSERA_EXPORT Plan {
 public:
  Plan() = default;

  /// `scores[rank_offsets[r]]` up to, but excluding, `scores[rank_offsets[r + 1]]` are those of rank r;
  /// `rank_offsets` has one more element than there are ranks. Without devices, the result is that of
  /// `over_hosts`. Throws `Error(usage)` on a negative `units`, a `block` below 1, offsets that do not fit
  /// the scores, or scores whose total does not fit 64 bits. Cost: O(ranks + devices), and the sorting of
  /// each rank's devices; a million devices take some tenths of a second.
  [[nodiscard]] static Plan over_devices(std::int64_t units, std::span<const std::uint64_t> scores,
                                         std::span<const std::int64_t> rank_offsets, std::int64_t block = 1) {
    return over_devices(units, scores, rank_offsets, {.block = block});
  }
  /// Like the overload above. Also throws `Error(usage)` for a weight that is negative or not finite, and for
  /// a range of the wrong size. Weights are evaluated four times, in order: cost O(units), or O(blocks).
  [[nodiscard]] static Plan over_devices(std::int64_t units, std::span<const std::uint64_t> scores,
                                         std::span<const std::int64_t> rank_offsets,
                                         const PlanOptions& options);

  /// An even split over the host of every rank, for a job without devices. The plan has no tiles. Throws
  /// `Error(usage)` on a negative `units`, or `ranks` or a `block` below 1.
  [[nodiscard]] static Plan over_hosts(std::int64_t units, int ranks, std::int64_t block = 1);
  /// A split in proportion to the threads of each rank: within one block of the exact proportion, ties to
  /// the rank with more threads, then to the lower rank. Throws like the overload above, and `Error(usage)`
  /// if there is no rank, or a rank with less than one thread.
  [[nodiscard]] static Plan over_hosts(std::int64_t units, std::span<const int> threads,
                                       std::int64_t block = 1) {
    return over_hosts(units, threads, {.block = block});
  }
  [[nodiscard]] static Plan over_hosts(std::int64_t units, std::span<const int> threads,
                                       const PlanOptions& options);

  [[nodiscard]] std::int64_t units() const noexcept { return units_; }
  [[nodiscard]] std::int64_t block() const noexcept { return block_; }
  [[nodiscard]] int ranks() const noexcept {
    return rank_begins_.empty() ? 0 : static_cast<int>(rank_begins_.size() - 1);
  }

  /// False if the plan is over hosts, without tiles.
  [[nodiscard]] bool on_devices() const noexcept { return on_devices_; }

  /// All tiles of the job in order of their first units. The span is valid as long as the plan.
  [[nodiscard]] std::span<const PlannedTile> tiles() const& noexcept;
  [[nodiscard]] std::span<const PlannedTile> tiles() const&& = delete;

  /// The tiles of one rank in order of their first unit. Throws `Error(usage)` for an unknown rank.
  /// Cost: O(log tiles).
  [[nodiscard]] std::span<const PlannedTile> tiles_of(int rank) const&;
  [[nodiscard]] std::span<const PlannedTile> tiles_of(int rank) const&& = delete;

  /// The units of one rank, over all its tiles. Throws `Error(usage)` for an unknown rank.
  [[nodiscard]] Range range_of(int rank) const;

  /// The fraction of the total work, by the weights, of a rank: 0 to 1. Throws `Error(usage)` for an unknown
  /// rank.
  [[nodiscard]] double share_of(int rank) const;

  /// A hash of the plan, by which ranks detect that their plans differ. May change between versions.
  [[nodiscard]] std::uint64_t fingerprint() const noexcept { return fingerprint_; }

 private:
  friend struct detail::PlanAccess;

  Plan(std::int64_t units, std::int64_t block, std::span<const detail::Share> ranks);
  [[nodiscard]] static Plan over_devices(std::int64_t units, std::int64_t block,
                                         std::span<const std::uint64_t> scores,
                                         std::span<const std::int64_t> rank_offsets,
                                         const detail::BlockWeights& weights,
                                         std::span<const std::uint64_t> order = {});
  [[nodiscard]] static Plan over_hosts(std::int64_t units, std::int64_t block, std::span<const int> threads,
                                       const detail::BlockWeights& weights);
  void take_fingerprint() noexcept;

  std::int64_t units_ = 0;
  std::int64_t block_ = 1;
  bool on_devices_ = false;
  bool weighted_ = false;  // whether the plan is over devices and its blocks differ in weight
  std::vector<PlannedTile> tiles_;
  std::vector<std::int64_t> rank_begins_;  // rank r has the units [rank_begins_[r], rank_begins_[r + 1])
  std::vector<double> rank_shares_;        // fraction of the total work of each rank
  std::uint64_t fingerprint_ = 0;          // hash of all members above except weighted_ and rank_shares_
};

}  // namespace TESSERA_NAMESPACE

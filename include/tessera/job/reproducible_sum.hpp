// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/reproducible_sum_core.hpp>
#include <tessera/mpi/communicator.hpp>
#include <tessera/version.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tessera::inline TESSERA_ABI {

/// Sums vectors of doubles so that the result does not depend on the order, or on who added what.
///
///     ReproducibleSum sum(3);
///     sum.add(partial_of_block_7);
///     sum.add(partial_of_block_2);
///     sum.allreduce(comm);                 // collective
///     std::vector<double> total = sum.values();
///
/// Every summand is cut at fixed positions, the multiples of 2^32 in absolute value, into integer
/// slices, and slices of one position are added as 64-bit integers, which is associative. For each
/// element the four highest positions that any summand has reached are kept (at least 96 bits below
/// the largest summand), and what lies below is dropped by the position alone, so it is dropped in
/// every order. The sum is rounded to double once, at the end; `reproducible_sum_core.hpp` has the
/// arithmetic, and the proof. Source: the indexed type of Ahrens,
/// Demmel and Nguyen, "Algorithms for efficient reproducible floating point summation", ACM TOMS 46
/// (2020), with integer bins.
///
/// At most 2^30 vectors may be added in all. An infinite or NaN summand makes that element NaN.
/// Not thread-safe: one for each thread, then `merge`. Memory: 40 bytes an element.
class TESSERA_EXPORT ReproducibleSum {
 public:
  /// Positions kept for each element. Position k weighs 2^(32 k) times the least subnormal.
  static constexpr int bin_count = sum_bin_count;
  static constexpr int bin_bits = sum_bin_bits;
  static constexpr std::int64_t most_summands = std::int64_t{1} << 30;

  explicit ReproducibleSum(std::size_t width);

  [[nodiscard]] std::size_t width() const noexcept { return elements_.size(); }

  /// Adds one vector of `width()` doubles. Throws `Error(usage)` on another size. A few nanoseconds an
  /// element.
  void add(std::span<const double> summand);

  /// Adds what `other` has gathered. Throws `Error(usage)` on another width.
  void merge(const ReproducibleSum& other);

  /// Adds a state gathered elsewhere, on a GPU say, as `add_to` makes it: `tops` has `width()` elements
  /// (-1: nothing added), `bins` has `bin_count` arrays of `width()` one after the other, the highest
  /// position first; `count` vectors were added. Throws `Error(usage)` on other sizes.
  void merge(std::span<const std::int32_t> tops, std::span<const std::int64_t> bins, std::int64_t count);

  /// Allocates all that `allreduce` will need: 36 bytes an element. Where ranks can still agree that one of
  /// them failed, so that the others do not wait for it in the sum.
  void prepare_allreduce();
  /// The sum over all ranks, on every rank. *Collective.* 36 bytes an element go over the network. Throws
  /// `Error(usage)` on every rank if more than 2^30 vectors come together. The width must be the same.
  void allreduce(const mpi::Communicator& comm);

  /// The sums, each rounded once, to nearest even.
  [[nodiscard]] std::vector<double> values() const;

 private:
  void count_in(std::int64_t more);

  std::vector<SumElement> elements_;
  std::int64_t count_ = 0;
  std::vector<std::int32_t> tops_;  ///< these two for an `allreduce`: of all elements, and
  std::vector<std::int64_t> bins_;  ///< of one element after another
};

}  // namespace tessera::inline TESSERA_ABI

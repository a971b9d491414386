// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/reproducible_sum_core.hpp>
#include <tessera/mpi/communicator.hpp>
#include <tessera/version.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE {

/// Reproducible summation of vectors of doubles: the result depends neither on the order of the summands nor
/// on their distribution over threads and ranks.
///
///     ReproducibleSum sum(3);
///     sum.add(partial_of_block_7);
///     sum.add(partial_of_block_2);
///     sum.allreduce(comm);                 // collective
///     std::vector<double> total = sum.values();
///
/// Every summand is split into integer slices of 32 bits at fixed exponents (*positions*), the multiples of
/// 32. Slices at one position are added as 64-bit integers, which is associative. Each element keeps the four
/// highest positions among all summands (at least 96 bits below the largest summand); lower slices are
/// dropped. Whether a slice is dropped depends only on its position, so the same slices are dropped in any
/// order of the summands. The sum is rounded to double once, at the end; `reproducible_sum_core.hpp` has the
/// arithmetic and the proof. Source: the indexed type of Ahrens, Demmel and Nguyen, "Algorithms for efficient
/// reproducible floating point summation", ACM TOMS 46 (2020), with integer bins.
///
/// At most 2^30 vectors may be added in all. An infinite or NaN summand makes its element NaN. Not
/// thread-safe: use one object for each thread, then `merge`. Memory: 40 bytes per element.
class TESSERA_EXPORT ReproducibleSum {
 public:
  /// Positions kept for each element. Position k has the weight 2^(32 k) times the smallest subnormal.
  static constexpr int bin_count = sum_bin_count;
  static constexpr int bin_bits = sum_bin_bits;
  static constexpr std::int64_t max_summands = std::int64_t{1} << 30;
  /// From this width on, the host threads of a rank share one sum in `Job::reduce`. For narrower vectors one
  /// sum per thread is cheaper.
  static constexpr std::size_t shared_width = std::size_t{1} << 17;

  /// Throws `Error(usage)` if `width` elements exceed the address space.
  static void require_width(std::size_t width);
  /// Throws like `require_width`.
  explicit ReproducibleSum(std::size_t width);

  [[nodiscard]] std::size_t width() const noexcept { return elements_.size(); }

  /// Adds one vector of `width()` doubles. Throws `Error(usage)` for another size. Cost: some nanoseconds per
  /// element.
  void add(std::span<const double> summand);
  /// Like `add`, and sets `summand` to zeros. Costs less than `add` if many elements are zero.
  void take(std::span<double> summand);

  /// Adds the summands of `other`. Throws `Error(usage)` for another width.
  void merge(const ReproducibleSum& other);

  /// Adds sums that were accumulated by `add_to`, for example on a GPU: `tops` has `width()` elements (-1:
  /// nothing added), `bins` has `bin_count` consecutive arrays of `width()`, the highest position first;
  /// `count` is the number of vectors added. Throws `Error(usage)` for other sizes.
  void merge(std::span<const std::int32_t> tops, std::span<const std::int64_t> bins, std::int64_t count);

  /// Allocates the buffers of `allreduce`: 36 bytes per element. Call it before a vote: a rank that is out
  /// of memory then fails in the vote, and the other ranks do not wait for it in `allreduce`.
  void prepare_allreduce();
  /// *Collective.* Replaces the sum, on every rank, by the sum over all ranks. The width must be the same.
  /// Throws `Error(usage)` on every rank if the ranks have added more than 2^30 vectors together. Cost: 36
  /// bytes per element on the network; on one rank nothing, and no buffers.
  void allreduce(const mpi::Communicator& comm);

  /// The sums, each rounded once, to nearest even.
  [[nodiscard]] std::vector<double> values() const;

 private:
  void count_in(std::int64_t more);

  std::vector<SumElement> elements_;
  std::int64_t count_ = 0;
  std::vector<std::int32_t> tops_;  ///< buffer of `allreduce`: `SumElement::top` of each element
  std::vector<std::int64_t> bins_;  ///< buffer of `allreduce`: the bins, element by element
};

}  // namespace TESSERA_NAMESPACE

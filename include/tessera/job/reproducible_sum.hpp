// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/mpi/communicator.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tessera {

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
/// every order. The sum is rounded to double once, at the end. Source: the indexed type of Ahrens,
/// Demmel and Nguyen, "Algorithms for efficient reproducible floating point summation", ACM TOMS 46
/// (2020), with integer bins.
///
/// At most 2^30 vectors may be added in all. An infinite or NaN summand makes that element NaN.
/// Not thread-safe: one for each thread, then `merge`. Memory: 40 bytes an element.
class ReproducibleSum {
 public:
  /// Kept positions, and the state of one element: `top` is the highest position reached, `bins[i]`
  /// the sum of the slices at position `top - i`. Position k weighs 2^(32 k) times the least subnormal.
  static constexpr int bin_count = 4;
  static constexpr int bin_bits = 32;

  explicit ReproducibleSum(std::size_t width);

  [[nodiscard]] std::size_t width() const noexcept { return tops_.size(); }

  /// Adds one vector of `width()` doubles. Throws `Error(usage)` on another size. About 4 ns an element.
  void add(std::span<const double> summand);

  /// Adds what `other` has gathered. Throws `Error(usage)` on another width.
  void merge(const ReproducibleSum& other);

  /// Adds a state gathered elsewhere, on a GPU say: `tops` has `width()` elements (-1: nothing added),
  /// `bins` has `bin_count` arrays of `width()` one after the other, `count` vectors were added.
  void merge(std::span<const std::int32_t> tops, std::span<const std::int64_t> bins, std::int64_t count);

  /// The sum over all ranks, on every rank. *Collective.* 36 bytes an element go over the network.
  void allreduce(const mpi::Communicator& comm);

  /// The sums, each rounded once, to nearest even.
  [[nodiscard]] std::vector<double> values() const;

 private:
  std::vector<std::int32_t> tops_;
  std::vector<std::int64_t> bins_;
  std::int64_t count_ = 0;
};

}  // namespace tessera

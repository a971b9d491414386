// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/chunk.hpp"
#include "gam/rows/evaluation.hpp"
#include "gam/rows/layout.hpp"
#include "gam/rows/row_pass.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace tessera::gam {

/// The pass over rows on the host: a few hundred rows at a time, in row order, in buffers that stay in the
/// core's cache. Every addition is a plain multiplication and addition in a fixed order, vectorised over
/// neighbouring sums only, so that the bits are the same on every processor and for any number of threads.
///
/// Memory: about 256 rows of nonzeros for each thread; no row of the model matrix is kept.
class HostRows {
 public:
  HostRows(const Rows& rows, const RowLayout& layout);
  ~HostRows();
  HostRows(const HostRows&) = delete;
  HostRows& operator=(const HostRows&) = delete;

  /// Adds what local rows [begin, end) give to `sums`, which has `layout.width(kind)` elements.
  /// `raw_coef` is not read for moments, and is zeros for a start. The order of additions is that of the rows
  /// for a few, and for many has the sums of a run of columns together (aligned_sums.hpp): it depends on
  /// where the range begins and ends, and on nothing else. Thread-safe.
  void add(PassKind kind, std::span<const double> raw_coef, std::size_t begin, std::size_t end,
           std::span<double> sums);

 private:
  struct Chunk;
  class Lease;

  void gather_response(Chunk& chunk) const;
  template <RowFamily F>
  void finish_rows(PassKind kind, const F& family, Chunk& chunk, double* sums) const;
  template <RowFamily F>
  void add_likelihood(const F& family, const Chunk& chunk, double* sums) const;
  void clear_row(int r, Chunk& chunk) const;
  void add_product(const Product& product, Chunk& chunk, double* sums) const;

  const Rows& rows_;
  const RowLayout& layout_;
  LayoutView view_;
  RowEvaluator evaluator_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Chunk>> idle_;
};

}  // namespace tessera::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/chunk.hpp"
#include "gam/rows/curve_predictor.hpp"
#include "gam/rows/evaluation.hpp"
#include "gam/rows/layout.hpp"
#include "gam/rows/row_pass.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The pass over rows on the CPU, in chunks that fit the cache. Results are bitwise equal on every CPU and
/// for any number of threads: additions have a fixed order, no FMA, and only neighbouring sums are
/// vectorised.
///
/// Memory: about 256 rows of nonzeros for each thread; the model matrix is not stored.
class HostRows {
 public:
  HostRows(const Rows& rows, const RowLayout& layout);
  ~HostRows();
  HostRows(const HostRows&) = delete;
  HostRows& operator=(const HostRows&) = delete;

  /// Adds the sums over local rows [begin, end) to `sums`, of `layout.width(kind)` elements. `raw_coef` is
  /// not read for moments, and must be zero for a start. The order of additions depends only on the range:
  /// small ranges are added row by row, large ranges are first summed in `AlignedSums`. Thread-safe.
  void add(PassKind kind, std::span<const double> raw_coef, std::size_t begin, std::size_t end,
           std::span<double> sums);

  /// Later passes read only every `stride`-th chunk of 256 rows, counted over the rows of the job.
  void read_every(int stride) noexcept { stride_ = static_cast<std::size_t>(stride); }
  [[nodiscard]] int stride() const noexcept { return static_cast<int>(stride_); }

 private:
  struct Chunk;
  class Lease;

  /// The predictor at these coefficients; caches the last predictor. Thread-safe.
  std::shared_ptr<const CurvePredictor> predictor_at(std::span<const double> raw_coef);
  void look_back(PassKind kind, const CurvePredictor* predictor, std::size_t begin, std::size_t end,
                 Chunk& chunk) const;
  void read(const Rows& rows, const RowEvaluator& evaluator, PassKind kind, const CurvePredictor* predictor,
            std::size_t begin, std::size_t end, Chunk& chunk) const;
  static void gather_response(const Rows& rows, const LayoutView& view, Chunk& chunk);
  /// Second numbers of the responses; the responses themselves if they have only one number.
  [[nodiscard]] const double* limits_in(const Chunk& chunk) const;
  void finish(PassKind kind, Chunk& chunk, double* sums) const;
  static void add_scalars(const Chunk& chunk, int first, int end, double* sums);
  template <RowFamily F>
  void finish_rows(PassKind kind, const F& family, Chunk& chunk, double* sums) const;
  void finish_several(PassKind kind, const SeveralFamily& family, Chunk& chunk, double* sums) const;
  template <RowFamily F>
  void add_likelihood(const F& family, Chunk& chunk, double* sums) const;
  [[nodiscard]] std::vector<PointEvaluator::FarWanted> wanted_of(PassKind kind,
                                                                 const CurvePredictor* predictor,
                                                                 Chunk& chunk) const;
  void add_moments(Chunk& chunk, double* sums) const;
  void clear_row(int r, Chunk& chunk) const;
  void whiten(Chunk& chunk, double* sums) const;
  void add_product(const Product& product, Chunk& chunk, double* sums) const;
  void add_sides(const Product& product, const ProductSide& row, const ProductSide& column, Chunk& chunk,
                 double* sums) const;

  const Rows& rows_;
  const RowLayout& layout_;
  LayoutView view_;
  RowEvaluator evaluator_;
  std::size_t stride_ = 1;
  std::optional<Rows> rows_before_;  ///< last row before this rank's rows, for series
  std::optional<RowEvaluator> evaluator_before_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Chunk>> idle_;
  std::shared_ptr<const CurvePredictor> predictor_;
};

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/columns.hpp"
#include "gam/rows/curve_predictor.hpp"
#include "gam/rows/evaluation.hpp"
#include "gam/rows/layout.hpp"
#include "gam/rows/products.hpp"
#include "gam/rows/row_pass.hpp"
#include "gam/terms/point_values.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// Evaluation of rows on the CPU in chunks that fit the cache: the first step of every CPU pass.
namespace TESSERA_NAMESPACE::gam {

/// Rows of a chunk: the values of one term fit the L1 cache, those of all terms the L2 cache.
inline constexpr int chunk_rows = 256;

/// Rows whose far-field columns are evaluated together: 7 MB for 100 columns.
inline constexpr int prepared_rows = 8192;

/// The complete rows of a range of rows. Arrays have `chunk_rows` rows for each term or placement.
struct RowChunk {
  explicit RowChunk(const RowLayout& layout);

  [[nodiscard]] double* values_of(const TermTable& term) {
    return values.data() + term.value_begin * chunk_rows;
  }
  [[nodiscard]] int* starts_of(int placement) {
    return starts.data() + static_cast<std::ptrdiff_t>(placement) * chunk_rows;
  }

  PointEvaluator evaluator;
  int count = 0;
  std::vector<std::size_t> index;   ///< local row index of each row
  std::vector<double> offset, eta;  ///< `chunk_rows` for each linear predictor
  std::vector<int> starts;
  std::vector<double> values;  ///< values of the terms, then the residual
};

/// Thread-safe if each thread has its own chunk.
class RowEvaluator {
 public:
  RowEvaluator(const Rows& rows, const RowLayout& layout);

  /// Collects the complete rows of [begin, end), at most `chunk_rows`, and sets predictors to offsets.
  void gather(RowChunk& chunk, std::size_t begin, std::size_t end) const;
  /// Evaluates far-field columns in bulk, which is faster, for at most `prepared_rows` rows.
  void prepare(RowChunk& chunk, std::size_t begin, std::size_t end,
               std::span<const PointEvaluator::FarWanted> wanted = {}) const;
  /// Evaluates the values and starts of a term. Requires that the term at `TermTable::combined` is evaluated.
  void evaluate_term(int term, RowChunk& chunk) const;
  /// Adds the term's contribution to its linear predictor.
  void add_predictor(int term, std::span<const double> raw_coef, RowChunk& chunk) const {
    add_predictor(term, raw_coef, chunk, eta_of(term, chunk));
  }
  void add_predictor(int term, std::span<const double> raw_coef, RowChunk& chunk,
                     std::span<double> eta) const;
  /// As above, but does not need the values of curves. `evaluated`: the last `evaluate_term` was for `term`.
  void add_predictor(int term, const CurvePredictor& predictor, bool evaluated, RowChunk& chunk) const;
  /// Adds sums of powers by cell; the term must be a single curve.
  void add_moments(int term, RowChunk& chunk, double* sums) const;

 private:
  [[nodiscard]] Points points_of(const RowChunk& chunk) const {
    return {numbers_.data(), codes_.data(), chunk.index.data(), chunk.count};
  }
  void combine(const RawTerm& dense, double* out, RowChunk& chunk) const;
  [[nodiscard]] std::span<double> eta_of(int term, RowChunk& chunk) const {
    return std::span(chunk.eta).subspan(static_cast<std::size_t>(view_.terms[term].predictor) * chunk_rows,
                                        chunk_rows);
  }

  const Rows& rows_;
  LayoutView view_;
  std::vector<int> variables_;  ///< `variables_read`
  std::vector<NumberView> numbers_;
  std::vector<const std::int32_t*> codes_;
};

[[nodiscard]] inline ProductSide side_of(const LayoutView& view, const RowChunk& chunk,
                                         const std::vector<double>& values, int term, int placement) {
  return {values.data() + view.terms[term].value_begin * chunk_rows,
          chunk.starts.data() + static_cast<std::ptrdiff_t>(placement) * chunk_rows};
}

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/model/smooth_axes.hpp"

#include <tessera/gam/posterior.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// A smooth on a grid of points. Not thread-safe.
class SmoothGrid {
 public:
  /// `points`: per numeric variable; 0: as in `SmoothOptions::points`. All arguments must outlive the grid.
  SmoothGrid(const FittedModel& model, const CoefBlock& block, int points);

  [[nodiscard]] const CoefBlock& block() const noexcept { return block_; }
  [[nodiscard]] std::span<const Component> margins() const noexcept { return margins_; }
  [[nodiscard]] const std::vector<SmoothAxis>& axes() const noexcept { return axes_; }
  /// Number of points. Levels of factors vary slowest, and the last numeric variable fastest.
  [[nodiscard]] std::int64_t size() const noexcept { return size_; }
  /// The values of the margins' variables at a point, in the order of `CoefBlockRows`.
  [[nodiscard]] std::vector<double> at(std::int64_t point) const;
  /// The values of `at(point)` and of the by variable, each with the index of its variable in the design.
  [[nodiscard]] std::vector<std::pair<int, double>> described(std::int64_t point) const;

 private:
  const CoefBlock& block_;
  std::span<const Component> margins_;
  std::vector<SmoothAxis> axes_;
  std::vector<std::vector<double>> values_;  ///< of each axis
  std::vector<std::size_t> order_;           ///< indices of the axes, slowest first
  std::vector<std::pair<int, double>> by_;
  std::int64_t size_ = 1;
};

/// Rows of a result that belong together, such as the points of a smooth.
struct Piece {
  std::vector<std::string> texts;  ///< one for each text column of the result
  std::int64_t points = 0;
  /// Values at a point, by index of the design's variable; for a factor, the index of the level.
  std::function<std::vector<std::pair<int, double>>(std::int64_t)> describe;
  std::function<Combination(std::int64_t)> combination;  ///< weights of the coefficients at a point
};

/// Throws like `SmoothGrid`.
[[nodiscard]] Piece piece_of(const FittedModel& model, const CoefBlock& block, int points);

/// This rank's rows for some pieces, one row per point: texts, and a column for each variable of any piece.
struct PieceRows {
  Predictions described;                  ///< texts and variables in `kept`; no `columns`
  std::vector<std::size_t> piece_of_row;  ///< by local row
  std::vector<Combination> combinations;  ///< by local row
};
/// Memory of the pieces' rows in doubles, if the results have `columns` columns.
[[nodiscard]] double numbers_of_rows(const std::vector<Piece>& pieces, double columns);
[[nodiscard]] PieceRows rows_of(const Job& job, const Design& design,
                                const std::vector<std::string>& text_columns,
                                const std::vector<Piece>& pieces);

/// The requested smooths, in the model's order. Throws `Error(usage)` for a term that is no smooth.
[[nodiscard]] std::vector<const CoefBlock*> smooths_of(const FittedModel& model,
                                                       const SmoothOptions& options);

/// *Collective.* Calls `work` for blocks of this rank's draws or rows, on its threads. Throws
/// `Error(interrupted)` on every rank if the job is asked to stop.
void for_each_block(Job& job, Range range, std::int64_t block, FunctionRef<void(Range block)> work);

/// Adds the bounds of credible intervals with this probability, from the columns fit and se; 0: none.
void add_interval(Predictions& out, double probability);

/// *Collective.* Rows for the points of the pieces: texts, variables, and the estimate with its bands.
[[nodiscard]] Predictions answer_of(Job& job, const FittedModel& model,
                                    const std::vector<std::string>& text_columns,
                                    const std::vector<Piece>& pieces, const SmoothOptions& options);

}  // namespace TESSERA_NAMESPACE::gam

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

/// Results in rows: estimates at the points of grids.
namespace TESSERA_NAMESPACE::gam {

/// A smooth on a grid of points. Not thread-safe.
class SmoothGrid {
 public:
  /// `points`: for each number; 0: as in `SmoothOptions::points`. All arguments must outlive it.
  SmoothGrid(const FittedModel& model, const CoefBlock& block, int points);

  [[nodiscard]] const CoefBlock& block() const noexcept { return block_; }
  [[nodiscard]] std::span<const Component> margins() const noexcept { return margins_; }
  [[nodiscard]] const std::vector<SmoothAxis>& axes() const noexcept { return axes_; }
  /// Number of points: levels of factors change slowest, and the last number fastest.
  [[nodiscard]] std::int64_t size() const noexcept { return size_; }
  /// The values of the margins' variables at a point, as `CoefBlockRows` takes them.
  [[nodiscard]] std::vector<double> at(std::int64_t point) const;
  /// `at(point)` by variables of the design, including the by variable.
  [[nodiscard]] std::vector<std::pair<int, double>> described(std::int64_t point) const;

 private:
  const CoefBlock& block_;
  std::span<const Component> margins_;
  std::vector<SmoothAxis> axes_;
  std::vector<std::vector<double>> values_;  ///< grid values of each axis
  std::vector<std::size_t> order_;           ///< indices of the axes, the slowest first
  std::vector<std::pair<int, double>> by_;
  std::int64_t size_ = 1;
};

/// Rows of a result that belong together, such as the points of a smooth.
struct Piece {
  std::vector<std::string> texts;  ///< one for each text column of the result
  std::int64_t points = 0;
  /// Variables of the design with their values at a point: a level's index for a factor.
  std::function<std::vector<std::pair<int, double>>(std::int64_t)> describe;
  std::function<Combination(std::int64_t)> combination;  ///< of coefficients, to estimate at a point
};

/// The points of a smooth. Throws as `SmoothGrid`.
[[nodiscard]] Piece piece_of(const FittedModel& model, const CoefBlock& block, int points);

/// This rank's rows for some pieces, one per point: the pieces' texts, and the variables of any piece.
struct PieceRows {
  Predictions described;                  ///< without columns of numbers
  std::vector<std::size_t> piece_of_row;  ///< index of the piece of each local row
  std::vector<Combination> combinations;  ///< combination of each local row
};
/// Memory of the pieces' rows in numbers, with `columns` of results.
[[nodiscard]] double numbers_of_rows(const std::vector<Piece>& pieces, double columns);
[[nodiscard]] PieceRows rows_of(const Job& job, const Design& design,
                                const std::vector<std::string>& text_columns,
                                const std::vector<Piece>& pieces);

/// The requested smooths, in the order of the model. Throws `Error(usage)` for a term that the model lacks or
/// that is not a smooth.
[[nodiscard]] std::vector<const CoefBlock*> smooths_of(const FittedModel& model,
                                                       const SmoothOptions& options);

/// *Collective.* Calls `work` for blocks of this rank's draws or rows, on its threads. Throws
/// `Error(interrupted)` on every rank if the job is asked to stop.
void for_each_block(Job& job, Range range, std::int64_t block, FunctionRef<void(Range block)> work);

/// Adds the bounds of intervals with this probability to the columns fit and se; 0: none.
void add_interval(Predictions& out, double probability);

/// *Collective.* A row for each point of the pieces: their texts, the variables of any piece, and the
/// estimates with bands.
[[nodiscard]] Predictions answer_of(Job& job, const FittedModel& model,
                                    const std::vector<std::string>& text_columns,
                                    const std::vector<Piece>& pieces, const SmoothOptions& options);

}  // namespace TESSERA_NAMESPACE::gam

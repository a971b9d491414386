// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/frame.hpp"
#include "gam/data/frame/workers.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

/// Series of rows whose residuals follow an AR(1) process, like `rho` and `AR.start` of mgcv's bam;
/// neighbours are consecutive complete rows.
///
/// With r the working residuals, W their weights, and s = 1 / sqrt(1 - rho^2), row i is replaced by s
/// (sqrt(w_i) x_i - rho sqrt(w_{i-1}) x_{i-1}), unless a series begins there. The transformed rows are
/// independent, and replace sqrt(w_i) x_i in X'WX and X'Wr.
namespace TESSERA_NAMESPACE::gam {

/// Weights of the previous row and of the row itself in a transformed row.
struct NeighbourWeights {
  double own = 1;
  double before = 0;
};

struct Series {
  double rho = 0;  ///< 0: rows are independent
  /// Index into the frame of the variable that marks the start of a series; -1: all rows are one series.
  int start = -1;
  std::int32_t start_level = 0;      ///< code of TRUE if the variable is a factor; 1 if it is a number
  std::int64_t starts = 0;           ///< complete rows of the job that start a series
  std::int64_t starts_left_out = 0;  ///< incomplete rows of the job that are marked as a start
  /// The last complete row before this rank's rows, as a frame of one row; null: none.
  std::shared_ptr<const Frame> before{};
  /// For each variable of the frame: 1 if it is a factor whose level is constant in each series.
  std::vector<std::uint8_t> constant{};

  [[nodiscard]] bool correlated() const noexcept { return rho != 0; }
  /// Whether a series begins at a complete row.
  [[nodiscard]] bool begins_at(const Frame& frame, std::size_t row) const;
  /// Weights of a row that has a predecessor in its series.
  [[nodiscard]] NeighbourWeights weights() const;
  /// log|L|, where L is the transformation of `rows` rows, as mgcv counts it in fREML and in AIC.
  [[nodiscard]] double log_determinant_in_reml(std::int64_t rows) const;
  [[nodiscard]] double log_determinant_in_aic(std::int64_t rows) const;
};

/// *Collective.* Series by the variable `start` of the frame (-1: one series), without `rho`. Throws the same
/// `Error(input)` on every rank if a complete row has a value other than TRUE, FALSE, 1 or 0 there.
[[nodiscard]] Series find_series(const Workers& workers, const Frame& frame, int start);

/// Whether any local row in [begin, end) is complete. If none is, which is common with a small subset, the
/// previous complete row is not needed.
[[nodiscard]] bool has_complete(const Frame& frame, std::size_t begin, std::size_t end);
/// The last complete local row before `row`; empty if there is none on this rank.
[[nodiscard]] std::optional<std::size_t> complete_before(const Frame& frame, std::size_t row);

}  // namespace TESSERA_NAMESPACE::gam

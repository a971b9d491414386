// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/table/frame/frame.hpp"
#include "gam/table/frame/workers.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

/// Series of rows whose residuals follow an AR(1) process, as `rho` and `AR.start` of mgcv's bam: neighbours
/// are neighbours among the complete rows.
///
/// With r the working residuals, W their weights, and s = 1 / sqrt(1 - rho^2), a row is transformed with that
/// before it to s (sqrt(w_i) x_i - rho sqrt(w_{i-1}) x_{i-1}), unless a series begins there. The transformed
/// rows are independent, and stand for sqrt(w_i) x_i in X'WX and X'Wr.
namespace TESSERA_NAMESPACE::gam {

/// The part of the row before in a transformed row, and that of the row itself.
struct NeighbourWeights {
  double own = 1;
  double before = 0;
};

struct Series {
  double rho = 0;  ///< 0: rows are independent
  /// Index into the frame of the variable that tells where a series begins; -1: all rows are one series.
  int start = -1;
  std::int32_t start_level = 0;      ///< TRUE, if the variable is a factor; 1 if it is a number
  std::int64_t starts = 0;           ///< complete rows of the job where a series begins by the variable
  std::int64_t starts_left_out = 0;  ///< other rows of the job where one does, which begin none
  /// The last complete row before this rank's, as a frame of one row; null: there is none.
  std::shared_ptr<const Frame> before{};
  /// Of each variable of the frame: a factor whose level is the same in all rows of each series.
  std::vector<std::uint8_t> constant{};

  [[nodiscard]] bool correlated() const noexcept { return rho != 0; }
  /// Whether a series begins at a complete row.
  [[nodiscard]] bool begins_at(const Frame& frame, std::size_t row) const;
  /// Of a row that has another one of its series before it.
  [[nodiscard]] NeighbourWeights weights() const;
  /// log|L|, L the transformation of `rows` rows, as mgcv counts it in fREML and in AIC.
  [[nodiscard]] double log_determinant_in_reml(std::int64_t rows) const;
  [[nodiscard]] double log_determinant_in_aic(std::int64_t rows) const;
};

/// *Collective.* Series by the variable `start` of the frame (-1: one series), without their `rho`. Throws
/// the same `Error(input)` on every rank if a complete row has neither TRUE nor FALSE, nor 1 or 0, there.
[[nodiscard]] Series find_series(const Workers& workers, const Frame& frame, int start);

/// Whether a local row among [begin, end) is complete. Where none is, as in most of a table of which a small
/// subset is fitted, nobody has to look for the row before it.
[[nodiscard]] bool has_complete(const Frame& frame, std::size_t begin, std::size_t end);
/// The last complete local row before `row`; nothing if there is none on this rank.
[[nodiscard]] std::optional<std::size_t> complete_before(const Frame& frame, std::size_t row);

}  // namespace TESSERA_NAMESPACE::gam

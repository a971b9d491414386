// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/frame.hpp"
#include "gam/data/frame/workers.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

/// AR(1) residuals in series of consecutive complete rows, like `rho` and `AR.start` of mgcv's bam.
///
/// With weights w and s = 1 / sqrt(1 - rho^2), whitening replaces sqrt(w_i) x_i in X'WX and X'Wr by s
/// (sqrt(w_i) x_i - rho sqrt(w_{i-1}) x_{i-1}), unless a series begins at row i.
namespace TESSERA_NAMESPACE::gam {

/// Weights of a row and of its predecessor in the whitened row.
struct NeighbourWeights {
  double own = 1;
  double before = 0;
};

struct Series {
  double rho = 0;  ///< 0: rows are independent
  /// Variable that marks the start of a series; -1: all rows are one series.
  int start = -1;
  std::int32_t start_level = 0;      ///< code of TRUE if the variable is a factor
  std::int64_t starts = 0;           ///< number of complete rows of the job that start a series
  std::int64_t starts_left_out = 0;  ///< number of incomplete rows of the job that are marked as a start
  /// The last complete row before this rank's rows, as a frame of one row; null if there is none.
  std::shared_ptr<const Frame> before{};
  /// By variable: 1 for a factor whose level is constant in each series.
  std::vector<std::uint8_t> constant{};

  [[nodiscard]] bool correlated() const noexcept { return rho != 0; }
  /// True if the complete row begins a series.
  [[nodiscard]] bool begins_at(const Frame& frame, std::size_t row) const;
  /// The weights for a row that has a predecessor in its series.
  [[nodiscard]] NeighbourWeights weights() const;
  /// log|L| of the whitening L of `rows` rows, as mgcv counts it in fREML and AIC.
  [[nodiscard]] double log_determinant_in_reml(std::int64_t rows) const;
  [[nodiscard]] double log_determinant_in_aic(std::int64_t rows) const;
};

/// *Collective.* Finds the series marked by the variable `start` (-1: one series); leaves `rho` at 0. Throws
/// the same `Error(input)` on every rank if a complete row has a value other than TRUE, FALSE, 1 or 0.
[[nodiscard]] Series find_series(const Workers& workers, const Frame& frame, int start);

/// True if a local row in [begin, end) is complete.
[[nodiscard]] bool has_complete(const Frame& frame, std::size_t begin, std::size_t end);
/// The last complete local row before `row`, if there is one.
[[nodiscard]] std::optional<std::size_t> complete_before(const Frame& frame, std::size_t row);

}  // namespace TESSERA_NAMESPACE::gam

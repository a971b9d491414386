// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/table/frame/frame.hpp"
#include "gam/table/frame/workers.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// What mgcv's `var.summary` has of a variable: typical values for predictions in which others vary.
struct VariableSummary {
  std::string name;  ///< the expression's text
  bool factor = false;
  double least = 0;   ///< of numbers
  double median = 0;  ///< R's type-3 quantile: an observation
  double greatest = 0;
  std::string level{};  ///< of a factor: the most frequent, and of several the first
};

/// *Collective.* For each column a range that is likely to hold the median of the job's numbers, of which
/// there are about `count`: that of complete rows too unless these are others.
[[nodiscard]] std::vector<KeySpan> likely_medians(const Workers& workers,
                                                  std::span<const ColumnNumbers* const> columns,
                                                  std::int64_t count);

/// *Collective.* Over the complete rows, of these variables of the frame. Variables without a level or a
/// finite number there are left out. The same bits for any number of ranks and threads. Takes what was found
/// near their medians out of the frame. Cost: a scan of a column, unless there was something, and, for the
/// extent of numbers in a frame that was not read, one more.
[[nodiscard]] std::vector<VariableSummary> summaries_of(const Workers& workers, Frame& frame,
                                                        std::span<const std::size_t> variables);

/// The cells of two variables that hold a complete row.
struct Occupancy {
  static constexpr int parts = 40;  ///< of each variable, from its least to its greatest value
  std::string x;
  std::string y;
  /// One a part of y, with a character for each part of x: '1' where there is a row, else '0'.
  std::vector<std::string> cells;
};

/// *Collective.* Of two numeric variables of the frame. Cost: a scan of both.
[[nodiscard]] Occupancy occupancy_of(const Workers& workers, const Frame& frame, int x, int y);

}  // namespace TESSERA_NAMESPACE::gam

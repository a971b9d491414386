// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/frame.hpp"
#include "gam/data/frame/workers.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// A variable's typical values as in mgcv's `var.summary`, for predictions in which other variables vary.
struct VariableSummary {
  std::string name;
  bool factor = false;
  double least = 0;
  double median = 0;  ///< R's type-3 quantile: an observation
  double greatest = 0;
  std::string level{};  ///< for factors: the most frequent level, the first in case of ties
  /// Mean of numbers, if requested; otherwise NaN.
  double mean = std::numeric_limits<double>::quiet_NaN();
};

/// *Collective.* For each column, a range of keys that probably contains the median of its numbers over the
/// job, of which there are about `count`. The range probably also contains the median over the complete rows,
/// unless these rows differ systematically.
[[nodiscard]] std::vector<KeySpan> likely_medians(const Workers& workers,
                                                  std::span<const ColumnNumbers* const> columns,
                                                  std::int64_t count);

/// *Collective.* Summaries of these variables over the complete rows of the frame. Variables without a level
/// or finite number are omitted. Same bits for any number of ranks and threads. Removes the stored values
/// near the medians from the frame. Cost: a scan of each column for its median, unless values near the median
/// are stored; scans for missing values and extents, if the frame has no `extents`; and a scan for the mean.
/// Means are summed in blocks of `block_of_means` rows, none of which may span two ranks; 0: no means.
[[nodiscard]] std::vector<VariableSummary> summaries_of(const Workers& workers, Frame& frame,
                                                        std::span<const std::size_t> variables,
                                                        std::int64_t block_of_means);

/// The cells of a grid over two variables that contain a complete row.
struct Occupancy {
  static constexpr int parts = 40;
  std::string x;
  std::string y;
  /// A string for each part of y, with a character for each part of x: '1' if a row is in the cell, else '0'.
  std::vector<std::string> cells;
};

/// *Collective.* Occupancy of the plane of two numeric variables. Cost: a scan of both.
[[nodiscard]] Occupancy occupancy_of(const Workers& workers, const Frame& frame, int x, int y);

}  // namespace TESSERA_NAMESPACE::gam

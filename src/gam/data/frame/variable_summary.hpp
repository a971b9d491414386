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

/// A variable in the sense of mgcv's `var.summary`: typical values for predictions in which others vary.
struct VariableSummary {
  std::string name;  ///< the expression's text
  bool factor = false;
  double least = 0;   ///< of numbers
  double median = 0;  ///< R's type-3 quantile: an observation
  double greatest = 0;
  std::string level{};  ///< of a factor: the most frequent; ties: the first
  /// Of numbers, if it was asked for; otherwise NaN.
  double mean = std::numeric_limits<double>::quiet_NaN();
};

/// *Collective.* For each column a range that probably contains the median of the job's about `count`
/// numbers, and the median of the complete rows unless these are different.
[[nodiscard]] std::vector<KeySpan> likely_medians(const Workers& workers,
                                                  std::span<const ColumnNumbers* const> columns,
                                                  std::int64_t count);

/// *Collective.* Summaries over the complete rows of these variables of the frame. Variables without a level
/// or a finite number are omitted. The same bits for any number of ranks and threads. Removes the values
/// found near their medians from the frame. Cost: a scan of a column unless such values were found, one for
/// the extent of numbers in a frame that was not read, and one for the mean. Means are summed in blocks of
/// `block_of_means` rows, which must be whole on each rank; 0: no means.
[[nodiscard]] std::vector<VariableSummary> summaries_of(const Workers& workers, Frame& frame,
                                                        std::span<const std::size_t> variables,
                                                        std::int64_t block_of_means);

/// The cells of two variables that contain a complete row.
struct Occupancy {
  static constexpr int parts = 40;  ///< of each variable, from its least to its greatest value
  std::string x;
  std::string y;
  /// One string for each part of y, with a character for each part of x: '1' if there is a row, else '0'.
  std::vector<std::string> cells;
};

/// *Collective.* Occupancy for two numeric variables of the frame. Cost: a scan of both.
[[nodiscard]] Occupancy occupancy_of(const Workers& workers, const Frame& frame, int x, int y);

}  // namespace TESSERA_NAMESPACE::gam

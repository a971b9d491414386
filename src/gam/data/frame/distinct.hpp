// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/frame.hpp"
#include "gam/data/frame/workers.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Distinct values of a numeric variable over the complete rows of the job.
struct Distinct {
  std::int64_t count = 0;  ///< at most `enough`
  double min = 0;
  double max = 0;
};
/// *Collective.* Stops counting at `enough` values. Cost: at most two scans of the column, no sorting.
[[nodiscard]] Distinct distinct_values(const Workers& workers, const Frame& frame, int variable,
                                       std::int64_t enough);
/// *Collective.* R's type-7 quantiles of the sorted distinct values (including `extra`) at the probabilities
/// seq(0, 1, length = count). Same bits for any number of ranks and threads. A rank sorts about `at_once`
/// values at a time (default: as many as fit into a quarter of the frame's memory). Cost: one scan of the
/// column if all values are sorted together, otherwise at most two scans per such batch of values.
[[nodiscard]] std::vector<double> distinct_quantiles(const Workers& workers, const Frame& frame, int variable,
                                                     int count, std::span<const double> extra,
                                                     std::optional<std::int64_t> at_once = {});

}  // namespace TESSERA_NAMESPACE::gam

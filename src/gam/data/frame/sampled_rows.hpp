// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/workers.hpp"

#include <cstdint>
#include <vector>

/// Samples of rows for checks, reports and residuals, the same for any number of ranks and devices.
namespace TESSERA_NAMESPACE::gam {

inline constexpr std::int64_t largest_sample = 4096;

/// Row numbers of a sample of at most `most` (at least 1) of `rows` rows, increasing: one from each of `most`
/// equal parts, at a pseudo-random place that depends only on the part's number and the seed. The sample is
/// thus evenly spread, but not aligned with any period of the table. Pure.
[[nodiscard]] std::vector<std::int64_t> sampled_rows(std::int64_t rows, std::int64_t most = largest_sample,
                                                     std::uint64_t seed = 0);

/// *Collective.* The rows of this rank that are in the sample of the job's complete rows, increasing.
[[nodiscard]] std::vector<std::int64_t> local_sample(const Workers& workers, const Frame& frame,
                                                     std::int64_t most = largest_sample,
                                                     std::uint64_t seed = 0);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/workers.hpp"

#include <cstdint>
#include <vector>

/// Which rows checks, reports and the residuals of a model take as a sample: the same for any number of ranks
/// and devices.
namespace TESSERA_NAMESPACE::gam {

/// Default size of a sample: enough rows for a plot, few for a file.
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

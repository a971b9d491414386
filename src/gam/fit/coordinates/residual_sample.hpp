// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/workers.hpp"
#include "gam/model/data_outline.hpp"
#include "gam/rows/row_pass.hpp"

#include <tessera/job/job.hpp>
#include <tessera/mpi/communicator.hpp>

#include <cstdint>
#include <span>
#include <vector>

/// Data stored with a fit for the plots of a report, from a sample of the rows that is the same for any
/// number of ranks and devices.
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

/// *Collective.* Summaries and residuals of the complete rows for plots, at the coefficients `raw_coef` = M
/// beta, on rank 0; other ranks get only the variables and the occupancy. With `residuals` false, only the
/// variables. Each rank computes its own rows, on the host. Cost: a count of the complete rows, and the
/// sample's rows on the job's host threads.
[[nodiscard]] DataOutline outline_of(const tessera::Job& job, const Rows& rows,
                                     std::span<const double> raw_coef, bool residuals);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/model/data_outline.hpp"
#include "gam/rows/row_pass.hpp"

#include <tessera/job/job.hpp>

#include <span>

namespace TESSERA_NAMESPACE::gam {

/// *Collective.* The data that a model stores for plots, on rank 0: summaries of the complete rows, and the
/// residuals of the rows in `local_sample` at the coefficients `raw_coef` = M beta. Other ranks get only the
/// variables and the occupancy. Without `residuals`, every rank gets only the variables. Cost: a count of the
/// complete rows, and the sample's rows on the job's host threads.
[[nodiscard]] DataOutline outline_of(const tessera::Job& job, const Rows& rows,
                                     std::span<const double> raw_coef, bool residuals);

}  // namespace TESSERA_NAMESPACE::gam

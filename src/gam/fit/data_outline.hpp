// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/model/data_outline.hpp"
#include "gam/rows/row_pass.hpp"

#include <tessera/job/job.hpp>

#include <span>

namespace TESSERA_NAMESPACE::gam {

/// *Collective.* The data that a model stores for plots: summaries of the complete rows, and the residuals of
/// those in `local_sample`, at the coefficients `raw_coef` = M beta, on rank 0; other ranks get only the
/// variables and the occupancy. With `residuals` false, only the variables. Each rank computes its own rows,
/// on the host. Cost: a count of the complete rows, and the sample's rows on the job's host threads.
[[nodiscard]] DataOutline outline_of(const tessera::Job& job, const Rows& rows,
                                     std::span<const double> raw_coef, bool residuals);

}  // namespace TESSERA_NAMESPACE::gam

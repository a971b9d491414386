// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/table.hpp>
#include <tessera/job/job.hpp>

namespace TESSERA_NAMESPACE::gam::c {

/// *Collective.* Concatenates the tables of all ranks in rank order, and redistributes the rows by the job's
/// plan, so that a fit has the same bits as a fit of the whole table on one rank. Of the plan of `mine`, only
/// the number of rows and the rows per block are used. Memory: a copy of each column. Throws `Error(usage)`
/// on every rank if the columns differ between ranks.
[[nodiscard]] Table shared_rows(Job& job, const Table& mine);

}  // namespace TESSERA_NAMESPACE::gam::c

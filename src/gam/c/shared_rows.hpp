// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/table.hpp>
#include <tessera/job/job.hpp>

namespace TESSERA_NAMESPACE::gam::c {

/// *Collective.* The rows of all ranks' tables, in the order of ranks, as the job divides them: so that a fit
/// has the bits of one table of all rows. The plans of the tables tell their rows and blocks alone. Memory: a
/// copy of each column. Throws `Error(usage)` on every rank where columns differ from rank to rank.
[[nodiscard]] Table shared_rows(Job& job, const Table& mine);

}  // namespace TESSERA_NAMESPACE::gam::c

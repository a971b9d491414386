// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"
#include "gam/rows/row_pass.hpp"

#include <tessera/job/job.hpp>

#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// *Collective.* Reports the first variable of a term with nearly all rows in a thousandth of its range, for
/// example one value of 1e9 among values of 0 to 1: one line, the same on every rank; empty if there is none.
/// Nearly all rows are then in one cell of a spline, and the few others dominate products with the variable.
/// Cost: two scans of the variable.
[[nodiscard]] std::string crowding(const tessera::Job& job, const Rows& rows, const CoefBlock& block);

/// *Collective.* Indices in `Design::blocks` of the smooths with a crowded variable: all rows of a sample lie
/// in at most a hundredth of the equal bins of the range of all rows, and in some bin they have more than one
/// value. The same on every rank, and for any number of ranks.
[[nodiscard]] std::vector<int> crowded_blocks(const tessera::Job& job, const Rows& rows);

}  // namespace TESSERA_NAMESPACE::gam

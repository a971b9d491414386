// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"
#include "gam/rows/row_pass.hpp"

#include <tessera/job/job.hpp>

#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// *Collective.* Describes, in one line, the first variable of a term with nearly all rows in a thousandth of
/// its range, for example one value of 1e9 among values from 0 to 1. Empty if the term has no such variable;
/// the same on every rank. Nearly all rows of such a variable are between two knots, and outliers dominate
/// crossproducts. Cost: two scans of the variable.
[[nodiscard]] std::string crowding(const tessera::Job& job, const Rows& rows, const CoefBlock& block);

/// *Collective.* Indices in `Design::blocks` of the smooths with a crowded variable. A variable is crowded if
/// all sampled rows lie in at most 1 % of the equal bins of its range, and some bin has distinct values. The
/// result is the same on every rank and for any number of ranks.
[[nodiscard]] std::vector<int> crowded_blocks(const tessera::Job& job, const Rows& rows);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"
#include "gam/rows/row_pass.hpp"

#include <tessera/job/job.hpp>

#include <string>
#include <vector>

namespace tessera::gam {

/// *Collective.* What is wrong with a term's variable if nearly all rows have it in a thousandth of its
/// range, as where one value is 1e9 among values of 0 to 1: one line, the same on every rank, of the first
/// such variable; empty if there is none. A spline then has nearly all rows in one of its cells, and a
/// product with the variable is that of the few others. Two looks at the variable.
[[nodiscard]] std::string crowding(const tessera::Job& job, const Rows& rows, const CoefBlock& block);

/// *Collective.* The places in `Design::blocks` of the smooths that have a variable of which a sample of the
/// rows lies in a hundredth of its range, and has unlike values close together there. The same on every rank,
/// and for any number of them.
[[nodiscard]] std::vector<int> crowded_blocks(const tessera::Job& job, const Rows& rows);

}  // namespace tessera::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"
#include "gam/fit/coordinates/orthogonal_smooths.hpp"
#include "gam/rows/row_pass.hpp"

#include <tessera/job/job.hpp>
#include <tessera/partition/plan.hpp>

#include <vector>

/// What the rows of a job cannot tell apart, and the design in which it has been decided. Both steps are
/// decided by rank 0 and told to the others, so that all ranks have one design.
namespace tessera::gam {

/// *Collective.* Applies the side conditions of nested smooths (side_conditions.hpp), of which the design has
/// some. `design` is that of `rows`, with its constraints; `moments` are those of its raw columns, and
/// `raw_gram` is R'R. Takes a pass over the rows on the host for a sketch of the nested columns
/// (row_sketch.hpp).
[[nodiscard]] Design with_side_conditions(Job& job, const Rows& rows, Design design,
                                          const RawMoments& moments, const PartedMatrix& raw_gram);

/// *Collective.* Leaves out what other terms determine: a column of the parametric part, as of a cell that
/// has no rows, or a function of a smooth that no penalty touches, as s(x) beside s(x, by = f). Of those that
/// depend on one another it is the one with the least left by the others, in the metric of X'WX with every
/// penalty beside it: mgcv's choice. What was left out is named in `Design::left_out`.
///
/// `raw_gram` is R'WR of the first working model. Throws `Error(input)` on every rank where a column is
/// determined but for a remainder that is no rounding, and yet too small for X'WX.
/// Cost: O(M_p^3), M_p unpenalised columns, and O(p^3) where one is left out.
/// `turned`: `design` in other coordinates, which then are those of `raw_gram`; null: it is its own.
[[nodiscard]] Design without_determined_columns(Job& job, const Rows& rows, Design design,
                                                const PartedMatrix& raw_gram,
                                                const OrthogonalSmooths* turned = nullptr);

}  // namespace tessera::gam

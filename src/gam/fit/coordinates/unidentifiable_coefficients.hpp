// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"
#include "gam/design/determined_columns.hpp"
#include "gam/fit/coordinates/change.hpp"
#include "gam/rows/row_pass.hpp"

#include <tessera/job/job.hpp>
#include <tessera/partition/plan.hpp>

#include <vector>

/// Removes coefficients that the rows do not identify (aliased coefficients). Rank 0 decides for all ranks.
namespace TESSERA_NAMESPACE::gam {

/// *Collective.* Applies the side conditions of nested smooths (side_conditions.hpp), if there are any.
/// `design`: the design of `rows`, with its constraints; `moments`: of its raw columns; `raw_gram`: R'R.
/// Sketches the nested columns in a pass over the rows on the CPU (row_sketch.hpp).
[[nodiscard]] Design with_side_conditions(Job& job, const Rows& rows, Design design,
                                          const RawMoments& moments, const PartedMatrix& raw_gram);

/// *Collective.* `determined_columns` of `design`, found by rank 0.
[[nodiscard]] std::vector<DeterminedColumn> find_determined_columns(Job& job, const Design& design,
                                                                    const PartedMatrix& raw_gram);

/// *Collective.* Drops columns that other terms determine: for example the column of a cell without rows, or
/// an unpenalised function of s(x) in a model with s(x, by = f). Among dependent columns it drops the one
/// with the smallest residual given the others, in the metric of X'WX and every penalty, as mgcv does.
/// `Design::left_out` names the dropped columns.
///
/// `raw_gram`: R'WR of the first working model. `orthogonal`: `design` in the coordinates of `raw_gram`; null
/// if `raw_gram` is in the coordinates of `design`. Throws `Error(input)` on every rank if the residual of a
/// determined column is larger than rounding, but too small for X'WX to resolve. Cost: O(M_p^3) for M_p
/// unpenalised columns, and O(p^3) if a column is dropped.
[[nodiscard]] Design without_determined_columns(Job& job, const Rows& rows, Design design,
                                                const PartedMatrix& raw_gram,
                                                const ChangedDesign* orthogonal = nullptr);

}  // namespace TESSERA_NAMESPACE::gam

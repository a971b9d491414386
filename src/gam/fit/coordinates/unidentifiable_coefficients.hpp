// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"
#include "gam/fit/coordinates/change.hpp"
#include "gam/rows/row_pass.hpp"

#include <tessera/job/job.hpp>
#include <tessera/partition/plan.hpp>

#include <vector>

/// Removes coefficients that are not identifiable (aliased) from the rows. Rank 0 decides both steps and
/// broadcasts, so that all ranks have the same design.
namespace TESSERA_NAMESPACE::gam {

/// *Collective.* Applies the side conditions of nested smooths (side_conditions.hpp) if the design has nested
/// smooths. `design`: the design of `rows`, with its constraints; `moments`: of its raw columns; `raw_gram`:
/// R'R. Sketches the nested columns in a pass over the rows on the host (row_sketch.hpp).
[[nodiscard]] Design with_side_conditions(Job& job, const Rows& rows, Design design,
                                          const RawMoments& moments, const PartedMatrix& raw_gram);

/// *Collective.* Drops columns determined by other terms: for example a parametric column of a cell without
/// rows, or an unpenalised function of s(x) in a model with s(x, by = f). Among dependent columns it drops
/// the one with the smallest residual given the others, in the metric of X'WX and every penalty, as mgcv
/// does. `Design::left_out` names the dropped columns.
///
/// `raw_gram` is R'WR of the first working model. Throws `Error(input)` on every rank if the residual of a
/// determined column is larger than rounding, but too small for X'WX to resolve. Cost: O(M_p^3), M_p
/// unpenalised columns, and O(p^3) if a column is dropped. `orthogonal`: `design` in the coordinates of
/// `raw_gram`; null if they are the same.
[[nodiscard]] Design without_determined_columns(Job& job, const Rows& rows, Design design,
                                                const PartedMatrix& raw_gram,
                                                const ChangedDesign* orthogonal = nullptr);

}  // namespace TESSERA_NAMESPACE::gam

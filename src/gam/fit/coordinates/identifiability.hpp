// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"
#include "gam/fit/coordinates/orthogonal_smooths.hpp"
#include "gam/rows/row_pass.hpp"

#include <tessera/job/job.hpp>
#include <tessera/partition/plan.hpp>

#include <vector>

/// Removes coefficients that the rows cannot identify. Rank 0 decides both steps and broadcasts, so that all
/// ranks have one design.
namespace TESSERA_NAMESPACE::gam {

/// *Collective.* Applies the side conditions of nested smooths (side_conditions.hpp) to a design that has
/// such smooths. `design` is that of `rows`, with its constraints; `moments` are those of its raw columns,
/// and `raw_gram` is R'R. Takes a pass over the rows on the host for a sketch of the nested columns
/// (row_sketch.hpp).
[[nodiscard]] Design with_side_conditions(Job& job, const Rows& rows, Design design,
                                          const RawMoments& moments, const PartedMatrix& raw_gram);

/// *Collective.* Leaves out what other terms determine: a column of the parametric part, as of a cell that
/// has no rows, or a function of a smooth that no penalty touches, as s(x) beside s(x, by = f). Among
/// dependent columns it drops the one with the smallest residual given the others, in the metric of X'WX and
/// every penalty: mgcv's choice. What was left out is named in `Design::left_out`.
///
/// `raw_gram` is R'WR of the first working model. Throws `Error(input)` on every rank where the remainder of
/// a determined column is larger than rounding, and yet too small for X'WX to resolve. Cost: O(M_p^3), M_p
/// unpenalised columns, and O(p^3) where one is left out. `turned`: `design` in the coordinates of
/// `raw_gram`; null: they are those of `design`.
[[nodiscard]] Design without_determined_columns(Job& job, const Rows& rows, Design design,
                                                const PartedMatrix& raw_gram,
                                                const OrthogonalSmooths* turned = nullptr);

}  // namespace TESSERA_NAMESPACE::gam

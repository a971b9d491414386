// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/frame.hpp"
#include "gam/data/frame/workers.hpp"

/// Variables that depend on more than the numbers of one row: comparisons with levels, factors of
/// expressions, and statistics of all rows. They are computed in two steps: first the columns are read, then
/// the variables are computed.
namespace TESSERA_NAMESPACE::gam {

[[nodiscard]] bool has_computed_variables(const FrameRequest& request);

/// The request of the first step: the columns that the variables read, in all rows.
[[nodiscard]] FrameRequest columns_of(const FrameRequest& request);

/// *Collective.* The second step: computes the variables. As in R, statistics include rows that are
/// incomplete or not in the subset. Same bits for any number of ranks and threads. Throws the same `Error` on
/// every rank: `usage` for an expression that does not match the columns' types, `input` for an infinite
/// value or too many levels. Cost: one scan of the columns, and further scans for statistics of all rows.
[[nodiscard]] Frame computed_frame(const Workers& workers, Frame columns, const FrameRequest& request);

}  // namespace TESSERA_NAMESPACE::gam

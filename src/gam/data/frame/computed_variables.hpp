// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/frame.hpp"
#include "gam/data/frame/workers.hpp"

/// Variables that are not functions of numbers in one row: comparisons with levels, factors of expressions,
/// and statistics of all rows. They are computed in two steps: first the columns, then the variables.
namespace TESSERA_NAMESPACE::gam {

/// Whether the request needs both steps.
[[nodiscard]] bool has_computed_variables(const FrameRequest& request);

/// The first step: the columns read by the request's variables, in all rows.
[[nodiscard]] FrameRequest columns_of(const FrameRequest& request);

/// *Collective.* The second step. As in R, statistics of all rows include rows that are incomplete or not in
/// the subset. Same bits for any number of ranks and threads. Throws the same `Error` on every rank: `usage`
/// for an expression that does not suit the columns' types, `input` for an infinite value, or a factor with
/// too many levels. Cost: one scan of the columns, and one or several more for statistics of all rows.
[[nodiscard]] Frame computed_frame(const Workers& workers, Frame columns, const FrameRequest& request);

}  // namespace TESSERA_NAMESPACE::gam

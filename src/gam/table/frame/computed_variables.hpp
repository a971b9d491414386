// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/table/frame/frame.hpp"
#include "gam/table/frame/workers.hpp"

/// Variables that are not numbers made of numbers in one row: comparisons with levels, factors of
/// expressions, what depends on all rows. They take two steps: the columns as they stand, and then the
/// variables.
namespace TESSERA_NAMESPACE::gam {

/// Whether the request takes both steps.
[[nodiscard]] bool has_computed_variables(const FrameRequest& request);

/// The first step: the columns that the request's variables read, all rows of them.
[[nodiscard]] FrameRequest columns_of(const FrameRequest& request);

/// *Collective.* The second step. As in R, what depends on all rows takes those that are not complete, or not
/// in the subset, too. Same bits on any number of ranks and threads. Throws the same `Error` on every rank:
/// `usage` for an expression that the columns' types do not suit, `input` for an infinite value, or a factor
/// of too many levels. Cost: a look at the columns, and one or some more for what depends on all rows.
[[nodiscard]] Frame computed_frame(const Workers& workers, Frame columns, const FrameRequest& request);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"
#include "gam/linalg/matrix.hpp"
#include "gam/linalg/parted_matrix.hpp"
#include "gam/rows/row_pass.hpp"

#include <tessera/job/job.hpp>
#include <tessera/partition/plan.hpp>

#include <span>

namespace tessera::gam {

/// *Collective.* R'R, by a pass over the rows. After a fallback it is the CPU's.
[[nodiscard]] PartedMatrix unweighted_gram(Job& job, const Plan& plan, const Rows& rows);

/// Some blocks of a design, and a sketch (row_sketch.hpp) of the raw columns of their terms.
struct BlockSketch {
  Design part;     ///< the blocks, over the raw columns of the design
  Design compact;  ///< the same over those of their terms alone
  Matrix raw;      ///< of the raw columns of `compact` and the constant, on rank 0; empty elsewhere
};

/// *Collective.* Of the blocks at these places, none of them a parted random effect's; `raw_gram` is R'R.
[[nodiscard]] BlockSketch sketch_of_blocks(Job& job, const Frame& frame, const Design& design,
                                           std::span<const int> blocks, const PartedMatrix& raw_gram);

}  // namespace tessera::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"
#include "gam/linalg/parted_matrix.hpp"
#include "gam/rows/row_pass.hpp"

#include <tessera/gam/matrix.hpp>
#include <tessera/job/job.hpp>
#include <tessera/partition/plan.hpp>

#include <span>

namespace TESSERA_NAMESPACE::gam {

/// A copy of `rows` with a Gaussian response and without weights, offsets and correlation: X'WX is X'X.
[[nodiscard]] Rows unweighted(Rows rows);

/// *Collective.* Crossproduct R'R of the raw columns R, by a pass over the rows.
[[nodiscard]] PartedMatrix unweighted_gram(Job& job, const Plan& plan, const Rows& rows);

/// Some blocks of a design, and a sketch (row_sketch.hpp) of the raw columns of their terms.
struct BlockSketch {
  Design part;     ///< the blocks, over the raw columns of the design
  Design compact;  ///< the same blocks over the raw columns of their terms only
  Matrix raw;      ///< sketch of the raw columns of `compact` and the constant, on rank 0; empty elsewhere
};

/// *Collective.* Sketches these blocks; none may be a parted random effect. `raw_gram`: R'R.
[[nodiscard]] BlockSketch sketch_of_blocks(Job& job, const Frame& frame, const Design& design,
                                           std::span<const int> blocks, const PartedMatrix& raw_gram);

}  // namespace TESSERA_NAMESPACE::gam

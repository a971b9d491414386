// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"
#include "gam/table/frame/frame.hpp"
#include "gam/table/frame/workers.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace tessera::gam {

/// The pairs of levels that occur together in rows, for every two random effects of a design's part. Their
/// number is at most that of the rows, while the product of the effects' levels has no bound.
struct LevelPairs {
  /// For two terms, the pair of each local row: its index in the pattern; -1: none.
  struct OfTerms {
    OfTerms(int one, int other) : first(one), second(other) {}
    int first;
    int second;
    std::vector<std::int32_t> places;
  };

  std::shared_ptr<const SparsePattern> pattern;  ///< by places in the part
  std::vector<OfTerms> terms;
};

/// Null where the part has fewer than two effects. `design` indexes the variables of `frame`. *Collective*
/// with `all_ranks`: the pairs of the job's rows, the same on every rank; else those of the rank's rows.
/// Throws `Error(input)` if there are more than 2^31 - 1. Cost: O(rows log rows); the result has 4 bytes per
/// row and pair of effects.
[[nodiscard]] std::shared_ptr<const LevelPairs> level_pairs(const Workers& workers, const Frame& frame,
                                                            const Design& design, bool all_ranks);

}  // namespace tessera::gam

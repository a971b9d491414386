// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"
#include "gam/table/frame/frame.hpp"
#include "gam/table/frame/workers.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace tessera::gam {

/// Where random effects meet: of two effects of a design's part each pair of levels that some row has. There
/// are as many as rows at most, where the effects' product has no bound.
struct LevelPairs {
  /// Of two terms, which pair each local row has: its place in the pattern; -1: none.
  struct OfTerms {
    OfTerms(int one, int other) : first(one), second(other) {}
    int first;
    int second;
    std::vector<std::int32_t> places;
  };

  std::shared_ptr<const SparsePattern> pattern;  ///< by places in the part
  std::vector<OfTerms> terms;
};

/// Null where the part has one effect or none. `design` counts the variables of `frame`. *Collective* with
/// `all_ranks`: the pairs of the job's rows, the same on every rank; else those of the rank's own. Throws
/// `Error(input)` if there are more than 2^31 - 1. Cost: O(rows log rows), and 4 bytes a row and pair of
/// effects that stay.
[[nodiscard]] std::shared_ptr<const LevelPairs> level_pairs(const Workers& workers, const Frame& frame,
                                                            const Design& design, bool all_ranks);

}  // namespace tessera::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/frame.hpp"
#include "gam/data/frame/workers.hpp"
#include "gam/design/design.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The pairs of levels that occur together in rows, for every two terms of a design's part.
///
/// A level has one raw column, or the contiguous raw columns of a curve. Below the diagonal, the rows of the
/// pattern in column j are the later columns of its block (only of its own level, if the block has more than
/// `largest_whole` columns), then all columns of each level that occurs with the level of j.
struct LevelPairs {
  /// Two terms. `places[row]`: index in the pattern of the row's pair of levels (first column of the first
  /// level, first row of the second level); -1 if the row has no such pair.
  struct OfTerms {
    int first;
    int second;
    std::vector<std::int32_t> places;
  };
  struct Term {
    int index;    ///< index among the design's terms
    int begin;    ///< index in the part of the first raw column
    int columns;  ///< raw columns per level
  };

  /// Calls `use(i, j, sum)` for pairs of nonzeros of the two terms in a row; `sum` is an index in the
  /// pattern. `first` and `second`: raw columns of the nonzeros relative to the starts.
  template <class Use>
  void for_each_of_row(std::size_t pair, std::size_t row, int first_start, std::span<const int> first,
                       int second_start, std::span<const int> second, const Use& use) const {
    const OfTerms& own = terms[pair];
    const std::int32_t place = own.places[row];
    if (place < 0) return;
    const int columns = part[own.first].columns;
    const int of_second = part[own.second].columns;
    const int level = first_start / columns * columns;
    const int column = part[own.first].begin + level;
    const int other = second_start % of_second;
    const std::int64_t from_begin = place - pattern->begins[static_cast<std::size_t>(column)] + other;
    for (std::size_t i = 0; i < first.size(); ++i) {
      const int within = first_start - level + first[i];
      // Only the lower triangle is stored: each column of a level has one row less than the previous.
      const std::int64_t line =
          pattern->begins[static_cast<std::size_t>(column + within)] + from_begin - within;
      for (std::size_t j = 0; j < second.size(); ++j) use(i, j, static_cast<std::size_t>(line + second[j]));
    }
  }

  std::shared_ptr<const SparsePattern> pattern;  ///< indices are in the part
  std::vector<Term> part;
  std::vector<OfTerms> terms;  ///< every two terms of `part`
};

/// Number of raw columns per level of a term's factors.
[[nodiscard]] int columns_of_level(const RawTerm& term);

/// Finds the pairs; null if the part has fewer than two effects. `design` must refer to the variables of
/// `frame`. With `all_ranks`: *collective*; finds the pairs of the job's rows, equal on every rank. Otherwise
/// finds the pairs of this rank's rows. Throws `Error(input)` if there are more than 2^31 - 1 pairs. Time:
/// O(rows log rows). Memory of the result: 4 bytes per row and pair of effects.
[[nodiscard]] std::shared_ptr<const LevelPairs> level_pairs(const Workers& workers, const Frame& frame,
                                                            const Design& design, int largest_whole,
                                                            bool all_ranks);

}  // namespace TESSERA_NAMESPACE::gam

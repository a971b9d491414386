// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/level_pairs.hpp"

#include "base/at.hpp"
#include "base/errors.hpp"

#include <tessera/job/together.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <optional>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// A pair of levels: its column in the pattern in the high bits, its row in the low bits.
using Key = std::uint64_t;
constexpr Key key_of(int column, int row) {
  return static_cast<Key>(column) << 32 | static_cast<Key>(row);
}

/// By local row: index in the part of the first column of the row's level of a term; -1 if there is none.
std::vector<std::int32_t> places_by(const Workers& workers, const Frame& frame, const Design& design,
                                    const RawTerm& term) {
  std::vector<std::int32_t> places(frame.complete.size());
  for_each_run(workers, frame, [&](int /*thread*/, std::size_t begin, std::size_t end) {
    frame.complete.prepare_to_read(begin, end);
    for (const Component& component : term.components)
      frame.variables[at(component.variable)].prepare_to_read(begin, end);
    for (std::size_t row = begin; row < end; ++row) {
      int column = 0;
      bool known = frame.complete[row] != 0;
      for (const Component& component : term.components) {
        column *= component.raw_size();
        if (component.kind != Component::Kind::factor) continue;  // the level's first column
        const std::int32_t level = frame.variables[at(component.variable)].codes[row];
        known = known && level >= 0;
        column += level;
      }
      places[row] = known ? design.parted_columns.in_part(term.raw_begin + column) : -1;
    }
  });
  return places;
}

void sort_out(std::vector<Key>& keys) {
  std::ranges::sort(keys);
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
}

/// The terms of a design's part, and the place of each row's level in it.
struct PartTerms {
  PartTerms(const Workers& workers, const Frame& frame, const Design& design) {
    for (std::size_t i = 0; i < design.terms.size(); ++i) {
      const RawTerm& term = design.terms[i];
      if (!design.parted_columns.has(term.raw_begin)) continue;
      terms.push_back(
          {static_cast<int>(i), design.parted_columns.in_part(term.raw_begin), columns_of_level(term)});
      places.push_back(places_by(workers, frame, design, term));
    }
  }

  /// Calls `use(a, b)` for every pair of terms a < b: a determines the pattern's column, and b the row.
  template <class Use>
  void for_each_two(const Use& use) const {
    for (std::size_t a = 0; a < terms.size(); ++a) {
      for (std::size_t b = a + 1; b < terms.size(); ++b) use(a, b);
    }
  }
  /// The distinct pairs of levels in rows, sorted. A level is identified by its first column.
  [[nodiscard]] std::vector<Key> keys() const {
    std::vector<Key> all;
    for_each_two([&](std::size_t a, std::size_t b) {
      std::vector<Key> own;
      for (std::size_t row = 0; row < places[a].size(); ++row) {
        if (places[a][row] >= 0 && places[b][row] >= 0) own.push_back(key_of(places[a][row], places[b][row]));
      }
      sort_out(own);
      all.insert(all.end(), own.begin(), own.end());
    });
    sort_out(all);
    return all;
  }
  /// Number of columns of the level that begins at `place`.
  [[nodiscard]] int columns_at(int place) const {
    const auto after = std::ranges::upper_bound(terms, place, {}, &LevelPairs::Term::begin);
    return std::prev(after)->columns;
  }
  [[nodiscard]] SparsePattern pattern(std::span<const Key> keys, const Part& part, int largest_whole) const {
    SparsePattern pattern;
    auto next = keys.begin();
    for (const Part::Run& run : part.runs()) {
      const int begin = part.in_part(run.begin);
      const int end = begin + run.size;
      const int columns = columns_at(begin);
      for (int level = begin; level < end; level += columns) {
        const auto first = next;
        while (next != keys.end() && static_cast<int>(*next >> 32) == level) ++next;
        for (int column = level; column < level + columns; ++column) {
          const int own_end = run.size <= largest_whole ? end : level + columns;
          for (int row = column + 1; row < own_end; ++row) pattern.rows.push_back(row);
          for (auto key = first; key != next; ++key) {
            const int row = static_cast<int>(*key & 0xffffffff);
            for (int k = 0; k < columns_at(row); ++k) pattern.rows.push_back(row + k);
          }
          pattern.begins.push_back(std::ssize(pattern.rows));
        }
      }
    }
    return pattern;
  }

  std::vector<LevelPairs::Term> terms;
  std::vector<std::vector<std::int32_t>> places;
};

}  // namespace

int columns_of_level(const RawTerm& term) {
  int columns = 1;
  for (const Component& component : term.components)
    columns *= component.kind == Component::Kind::factor ? 1 : component.raw_size();
  return columns;
}

std::shared_ptr<const LevelPairs> level_pairs(const Workers& workers, const Frame& frame,
                                              const Design& design, int largest_whole, bool all_ranks) {
  const auto in_part = [&](const RawTerm& term) { return design.parted_columns.has(term.raw_begin); };
  const auto effects = design.parts_curves() ? std::ranges::count_if(design.terms, in_part)
                                             : std::ssize(design.parted_columns.runs());
  if (effects < 2) return nullptr;
  std::optional<PartTerms> part;
  std::vector<Key> keys;
  const auto find = [&] {
    part.emplace(workers, frame, design);
    keys = part->keys();
  };
  if (all_ranks) {
    together(workers.comm, find);
    keys = workers.comm.allgatherv(std::span<const Key>(keys));
    sort_out(keys);
  } else {
    find();
  }
  const auto out = std::make_shared<LevelPairs>();
  out->pattern =
      std::make_shared<const SparsePattern>(part->pattern(keys, design.parted_columns, largest_whole));
  if (out->pattern->rows.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    throw base::input_error(
        "the random effects have more than 2^31 - 1 pairs of levels in the rows: remove one of the random "
        "effects");
  out->part = part->terms;
  part->for_each_two([&](std::size_t a, std::size_t b) {
    LevelPairs::OfTerms& pairs =
        out->terms.emplace_back(LevelPairs::OfTerms{static_cast<int>(a), static_cast<int>(b), {}});
    pairs.places.resize(frame.complete.size());
    for_each_run(workers, frame, [&](int /*thread*/, std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row) {
        const std::int32_t column = part->places[a][row];
        const std::int32_t of_row = part->places[b][row];
        pairs.places[row] =
            column < 0 || of_row < 0 ? -1 : static_cast<std::int32_t>(out->pattern->find(of_row, column));
      }
    });
  });
  return out;
}

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/level_pairs.hpp"

#include "base/at.hpp"

#include <tessera/error.hpp>
#include <tessera/job/together.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <utility>

namespace tessera::gam {
namespace {

using base::at;

/// A pair as column and row of the pattern.
using Key = std::uint64_t;
constexpr Key key_of(int column, int row) {
  return static_cast<Key>(column) << 32 | static_cast<Key>(row);
}

/// The place of each row in the part, according to one term; -1: none.
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
        if (component.kind != Component::Kind::factor) continue;
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

SparsePattern pattern_of(std::span<const Key> keys, int size) {
  SparsePattern pattern;
  pattern.rows.reserve(keys.size());
  auto next = keys.begin();
  for (int column = 0; column < size; ++column) {
    for (; next != keys.end() && static_cast<int>(*next >> 32) == column; ++next)
      pattern.rows.push_back(static_cast<int>(*next & 0xffffffff));
    pattern.begins.push_back(std::ssize(pattern.rows));
  }
  return pattern;
}

/// The terms of a design's part, and the rows' places in it.
struct PartTerms {
  PartTerms(const Workers& workers, const Frame& frame, const Design& design) {
    for (std::size_t i = 0; i < design.terms.size(); ++i) {
      if (!design.parted_columns.has(design.terms[i].raw_begin)) continue;
      terms.push_back(static_cast<int>(i));
      places.push_back(places_by(workers, frame, design, design.terms[i]));
    }
  }

  /// Calls `use(a, b)` for every pair of terms. Their places ascend: that of the second is the row of the
  /// pattern.
  template <class Use>
  void for_each_two(const Use& use) const {
    for (std::size_t a = 0; a < terms.size(); ++a) {
      for (std::size_t b = a + 1; b < terms.size(); ++b) use(a, b);
    }
  }
  /// The pairs that occur in rows, each once, in order.
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

  std::vector<int> terms;
  std::vector<std::vector<std::int32_t>> places;
};

}  // namespace

std::shared_ptr<const LevelPairs> level_pairs(const Workers& workers, const Frame& frame,
                                              const Design& design, bool all_ranks) {
  if (design.parted_columns.runs().size() < 2 || design.parts_curves()) return nullptr;
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
  if (keys.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    throw Error(ErrorCode::input,
                "random effects meet in more pairs of levels than can be counted: leave "
                "one of them out");
  const auto out = std::make_shared<LevelPairs>();
  out->pattern = std::make_shared<const SparsePattern>(pattern_of(keys, design.parted_columns.size()));
  part->for_each_two([&](std::size_t a, std::size_t b) {
    LevelPairs::OfTerms& pairs = out->terms.emplace_back(part->terms[a], part->terms[b]);
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

}  // namespace tessera::gam

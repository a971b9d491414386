// SPDX-License-Identifier: Apache-2.0
#include "gam/data/frame/complete_row_index.hpp"

#include "base/at.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

constexpr std::size_t rows_of_stretch = 1024;
constexpr std::int64_t stretches_at_once = 64;

/// The position of the complete row that has `rank` complete rows before it.
std::size_t place_of(std::span<const std::uint8_t> marks, std::int64_t rank) {
  // A multiplication by `ones` adds eight marks, each 0 or 1.
  constexpr std::uint64_t ones = 0x0101010101010101;
  std::size_t place = 0;
  for (; place + sizeof ones <= marks.size(); place += sizeof ones) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, &marks[place], sizeof eight);
    const auto count = static_cast<std::int64_t>(eight * ones >> 56);
    if (count > rank) break;
    rank -= count;
  }
  while (marks[place] == 0 || rank-- > 0) ++place;
  return place;
}

}  // namespace

CompleteRowIndex::CompleteRowIndex(const Workers& workers, const Frame& frame) : frame_(frame) {
  const std::size_t rows = frame.complete.size();
  const std::size_t stretches = (rows + rows_of_stretch - 1) / rows_of_stretch;
  before_.resize(stretches + 1);
  workers.team.for_each_block({0, static_cast<std::int64_t>(stretches)}, stretches_at_once,
                              [&](int /*thread*/, Range block) {
                                for (std::int64_t i = block.begin; i < block.end; ++i) {
                                  before_[at(i) + 1] = std::ranges::count(marks_of(at(i)), std::uint8_t{1});
                                }
                              });
  const std::vector<std::int64_t> counts =
      workers.comm.allgather(std::accumulate(before_.begin(), before_.end(), std::int64_t{0}));
  before_.front() = std::accumulate(counts.begin(), counts.begin() + workers.comm.rank(), std::int64_t{0});
  std::partial_sum(before_.begin(), before_.end(), before_.begin());
}

std::span<const std::uint8_t> CompleteRowIndex::marks_of(std::size_t stretch) const {
  const std::size_t begin = stretch * rows_of_stretch;
  return {frame_.complete.data() + begin, std::min(rows_of_stretch, frame_.complete.size() - begin)};
}

std::int64_t CompleteRowIndex::index_of(std::size_t row) const {
  const std::size_t stretch = row / rows_of_stretch;
  return before_[stretch] +
         std::ranges::count(marks_of(stretch).first(row % rows_of_stretch), std::uint8_t{1});
}

std::optional<std::size_t> CompleteRowIndex::row_of(std::int64_t index) const {
  if (index < first() || index >= end()) return std::nullopt;
  const auto after = std::ranges::upper_bound(before_, index);
  const auto stretch = static_cast<std::size_t>(after - before_.begin()) - 1;
  const auto marks = marks_of(stretch);
  const std::int64_t before = index - before_[stretch];
  const bool all_complete = before_[stretch + 1] - before_[stretch] == std::ssize(marks);
  return stretch * rows_of_stretch + (all_complete ? at(before) : place_of(marks, before));
}

}  // namespace TESSERA_NAMESPACE::gam

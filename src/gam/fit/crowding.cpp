// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/crowding.hpp"

#include "base/at.hpp"
#include "gam/table/extents.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tessera::gam {
namespace {

using base::at;

/// Parts of a range, two neighbours of which hold what is crowded: it may lie across their border.
constexpr int parts_of_range = 2000;
/// Of the rows.
constexpr double nearly_all = 0.9;

std::string crowding(const Workers& workers, const Frame& frame, int index) {
  const Variable& variable = frame.variables[at(index)];
  if (variable.factor) return {};
  const Extent range = extent_of(workers, frame, index);
  if (range.constant(range.size())) return {};
  // Halved, as the width of a range may exceed that of numbers.
  const auto part_of = [&](double value) {
    const double share = (value / 2 - range.min / 2) / (range.max / 2 - range.min / 2);
    return at(std::clamp(static_cast<int>(share * parts_of_range), 0, parts_of_range - 1));
  };
  std::vector<std::int64_t> counts(at(parts_of_range));
  std::int64_t complete = 0;
  for (std::size_t row = 0; row < frame.complete.size(); ++row) {
    if (frame.complete[row] != 0) ++counts[part_of(variable.numbers[row])];
  }
  workers.comm.allreduce(std::span(counts), mpi::Reduction::sum);
  std::size_t fullest = 0;
  const auto in_pair = [&](std::size_t first) { return counts[first] + counts[first + 1]; };
  for (std::size_t i = 0; i < counts.size(); ++i) {
    complete += counts[i];
    if (i + 1 < counts.size() && in_pair(i) > in_pair(fullest)) fullest = i;
  }
  const std::int64_t others = complete - in_pair(fullest);
  if (static_cast<double>(in_pair(fullest)) < nearly_all * static_cast<double>(complete)) return {};
  const Extent crowd = extents_of(workers, frame, 1, [&](std::size_t row, std::span<Extent> here) {
                         const double value = variable.numbers[row];
                         if (part_of(value) - fullest <= 1) here[0].add(value);
                       }).front();
  return fmt::format(
      "all but {} of {} rows have {} from {:g} to {:g}, and the range of all is {:g} to {:g}: look at the "
      "extreme values, or take a transformation such as log({})",
      others, complete, variable.name, crowd.min, crowd.max, range.min, range.max, variable.name);
}

}  // namespace

std::string crowding(const Job& job, const Rows& rows, const CoefBlock& block) {
  for (const std::string& name : block.variables) {
    std::string found = crowding({job.comm(), job.host_team()}, *rows.frame, rows.frame->index_of(name));
    if (!found.empty()) return found;
  }
  return {};
}

}  // namespace tessera::gam

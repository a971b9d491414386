// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/coordinates/crowded_variables.hpp"

#include "base/at.hpp"
#include "gam/data/frame/extents.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// Number of bins of a variable's range. A cluster may span two neighbouring bins.
constexpr int parts_of_range = 2000;
/// Share of the rows that counts as nearly all.
constexpr double nearly_all = 0.9;
/// A crowded variable's sample occupies at most this number of bins.
constexpr int few_parts = parts_of_range / 100;
/// Sample size. The sampled rows are spread evenly over the table.
constexpr std::int64_t looks = 4096;

/// The bin of a value. Values are halved because the width of a range may overflow.
std::size_t part_of_range(const Extent& range, double value) {
  const double share = (value / 2 - range.min / 2) / (range.max / 2 - range.min / 2);
  return at(std::clamp(static_cast<int>(share * parts_of_range), 0, parts_of_range - 1));
}

std::string crowding(const Workers& workers, const Frame& frame, int index) {
  const Variable& variable = frame.variables[at(index)];
  if (variable.factor) return {};
  const Extent range = extent_of(workers, frame, index);
  if (range.constant(range.size())) return {};
  const auto part_of = [&](double value) { return part_of_range(range, value); };
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
      "all except {} of {} rows have values of {} from {:g} to {:g}, but the full range is {:g} to {:g}: "
      "check the extreme values, or transform the variable, for example log({})",
      others, complete, variable.name, crowd.min, crowd.max, range.min, range.max, variable.name);
}

bool is_crowded(const Workers& workers, const Frame& frame, int index) {
  const Variable& variable = frame.variables[at(index)];
  if (variable.factor) return false;
  const Extent range = extent_of(workers, frame, index);
  if (range.constant(range.size())) return false;
  std::vector<Extent> parts(at(parts_of_range));
  const std::int64_t step = std::max<std::int64_t>(1, frame.file_rows / looks);
  for (std::int64_t row = (frame.rows.begin + step - 1) / step * step; row < frame.rows.end; row += step) {
    const std::size_t local = at(row - frame.rows.begin);
    frame.complete.prepare_to_read(local, local + 1);
    variable.prepare_to_read(local, local + 1);
    if (frame.complete[local] == 0) continue;
    const double value = variable.numbers[local];
    parts[part_of_range(range, value)].add(value);
  }
  unite(workers.comm, parts);
  const auto taken = [](const Extent& part) { return !part.empty(); };
  return std::ranges::count_if(parts, taken) <= few_parts &&
         std::ranges::any_of(parts, [](const Extent& part) { return part.min < part.max; });
}

}  // namespace

std::vector<int> crowded_blocks(const Job& job, const Rows& rows) {
  const Workers workers{job.comm(), job.host_team()};
  std::map<std::string, bool> known;
  const auto crowded = [&](const std::string& name) {
    const auto [found, first] = known.try_emplace(name, false);
    if (first) found->second = is_crowded(workers, *rows.frame, rows.frame->index_of(name));
    return found->second;
  };
  std::vector<int> places;
  for (std::size_t i = 0; i < rows.design->blocks.size(); ++i) {
    const CoefBlock& block = rows.design->blocks[i];
    if (block.is_smooth() && !block.penalty->is_diagonal() && std::ranges::any_of(block.variables, crowded))
      places.push_back(static_cast<int>(i));
  }
  return places;
}

std::string crowding(const Job& job, const Rows& rows, const CoefBlock& block) {
  for (const std::string& name : block.variables) {
    std::string found = crowding({job.comm(), job.host_team()}, *rows.frame, rows.frame->index_of(name));
    if (!found.empty()) return found;
  }
  return {};
}

}  // namespace TESSERA_NAMESPACE::gam

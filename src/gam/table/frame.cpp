// SPDX-License-Identifier: Apache-2.0
#include "gam/table/frame.hpp"

#include <tessera/error.hpp>

#include <fmt/format.h>

namespace tessera::gam {
namespace {

/// Rows whose spilled columns are read, and let go, at a time: a mebibyte of numbers.
constexpr std::size_t stretch = std::size_t{1} << 17;
/// Stretches that are being read in front of the one that threads are at.
constexpr std::size_t stretches_ahead = 2;

/// Calls `use(column)` for each column of a frame.
template <class Use>
void for_each_column(const Frame& frame, const Use& use) {
  use(frame.complete);
  for (const Variable& variable : frame.variables) {
    use(variable.numbers);
    use(variable.codes);
  }
}

}  // namespace

void Frame::prepare_to_read(std::size_t begin, std::size_t end) const {
  if (memory.spilled_bytes() == 0) return;
  const std::size_t first = (begin + stretch - 1) / stretch * stretch;
  if (first >= end) return;
  for_each_column(*this, [&](const auto& column) {
    column.read_ahead(first == 0 ? 0 : first + stretches_ahead * stretch,
                      first + (stretches_ahead + 1) * stretch);
    // Threads are in the stretch before this one still.
    if (first >= 2 * stretch) column.let_go(first - 2 * stretch, first - stretch);
  });
}

void Frame::release_written(std::size_t begin, std::size_t end) const {
  if (memory.spilled_bytes() == 0) return;
  const std::size_t last = end / stretch * stretch;
  if (last <= begin) return;
  for_each_column(*this, [&](const auto& column) { column.let_go(last - stretch, last); });
}

int Frame::index_of(std::string_view name) const {
  for (std::size_t v = 0; v < variables.size(); ++v) {
    if (variables[v].name == name) return static_cast<int>(v);
  }
  throw Error(ErrorCode::input, fmt::format("'{}' is no variable of the model", name));
}

std::string to_string(const ColumnReading& column) {
  std::string text = column.factor ? fmt::format("{}: factor of {} level{}", column.name, column.levels,
                                                 column.levels == 1 ? "" : "s")
                                   : column.name + ": numbers";
  if (column.levels > 0) text += fmt::format(", the first '{}'", column.first);
  if (column.missing > 0) text += fmt::format(", {} missing", column.missing);
  if (column.blank > 0)
    text += fmt::format(", {} blank (a level; missing if the NA strings are 'NA,')", column.blank);
  return text;
}

std::string to_string(const SpilledColumns& spilled) {
  const auto gib = [](std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 30); };
  return fmt::format(
      "columns: {:.3g} of {:.3g} GiB are in scratch files in {}, and every pass reads them there: memory has "
      "room for no more by {}; more nodes or more memory avoid that",
      gib(spilled.bytes), gib(spilled.all_bytes), spilled.folder, spilled.limit);
}

}  // namespace tessera::gam

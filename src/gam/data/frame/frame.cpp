// SPDX-License-Identifier: Apache-2.0
#include "gam/data/frame/frame.hpp"

#include "base/errors.hpp"

#include <fmt/format.h>

namespace TESSERA_NAMESPACE::gam {

void Frame::release_written(std::size_t begin, std::size_t end) const {
  complete.release_written(begin, end);
  for (const Variable& variable : variables) {
    variable.numbers.release_written(begin, end);
    variable.codes.release_written(begin, end);
  }
}

int Frame::index_of(std::string_view name) const {
  for (std::size_t v = 0; v < variables.size(); ++v) {
    if (variables[v].name == name) return static_cast<int>(v);
  }
  throw base::input_error("'{}' is not a variable of the model", name);
}

std::string to_string(const ColumnReading& column) {
  std::string text = column.factor ? fmt::format("{}: factor of {} level{}", column.name, column.levels,
                                                 column.levels == 1 ? "" : "s")
                                   : column.name + ": numbers";
  if (!column.unit.empty()) text += ", " + column.unit;
  if (column.levels > 0) text += fmt::format(", the first '{}'", column.first);
  if (column.without_quotes)
    text += fmt::format(", all values in quotes (to read them as levels, name '{}' among the factors)",
                        column.name);
  if (column.missing > 0) text += fmt::format(", {} missing", column.missing);
  if (column.inexact > 0) text += fmt::format(", {} rounded to double precision", column.inexact);
  if (column.blank > 0)
    text += fmt::format(", {} blank (read as a level; to read blanks as missing, give the NA strings 'NA,')",
                        column.blank);
  return text;
}

std::string missing_by_column(const Frame& frame) {
  std::string text;
  for (const ColumnReading& column : frame.columns) {
    if (column.missing > 0)
      text += fmt::format("{}{} of {}", text.empty() ? " (missing: " : ", ", column.missing, column.name);
  }
  return text.empty() ? text : text + ")";
}

std::string to_string(const SpilledColumns& spilled) {
  const auto gib = [](std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 30); };
  return fmt::format(
      "columns: {:.3g} of {:.3g} GiB are in scratch files in {}, which every pass reads: memory is limited "
      "by {}; use more nodes or more memory",
      gib(spilled.bytes), gib(spilled.all_bytes), spilled.folder, spilled.limit);
}

}  // namespace TESSERA_NAMESPACE::gam

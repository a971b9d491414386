// SPDX-License-Identifier: Apache-2.0
#include "gam/table/frame.hpp"

#include <tessera/error.hpp>

#include <fmt/format.h>

namespace tessera::gam {

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

}  // namespace tessera::gam

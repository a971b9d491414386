// SPDX-License-Identifier: Apache-2.0
#include "gam/data/output/csv_lines.hpp"

#include "base/at.hpp"
#include "base/csv_text.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

void append_shortest(std::string& text, double number) {
  if (std::isnan(number))
    text += "NA";
  else
    fmt::format_to(std::back_inserter(text), "{}", number);
}

}  // namespace

std::string csv_header(std::span<const OutputColumn> columns) {
  // Were only a factor's name in quotes, those around its numbers would mean nothing.
  const bool all_in_quotes = std::ranges::any_of(columns, [](const OutputColumn& column) {
    return column.values.factor && base::csv_name(column.name) != column.name;
  });
  std::string text;
  for (const OutputColumn& column : columns) {
    if (!text.empty()) text += ',';
    text += all_in_quotes ? base::in_quotes(column.name) : base::csv_name(column.name);
  }
  return text + '\n';
}

std::string csv_lines(std::span<const OutputColumn> columns, Range rows) {
  std::vector<std::vector<std::string>> levels(columns.size());
  for (std::size_t c = 0; c < columns.size(); ++c) {
    for (const std::string& level : columns[c].values.levels) levels[c].push_back(base::in_quotes(level));
  }
  std::string text;
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (c > 0) text += ',';
      const Variable& values = columns[c].values;
      if (values.factor) {
        const std::int32_t code = values.codes[at(row)];
        text += code < 0 ? "NA" : levels[c][at(code)];
      } else if (columns[c].with_all_digits) {
        base::append_number(text, values.numbers[at(row)]);
      } else {
        append_shortest(text, values.numbers[at(row)]);
      }
    }
    text += '\n';
  }
  return text;
}

}  // namespace TESSERA_NAMESPACE::gam

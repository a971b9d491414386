// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// Pictures of a page as files of their own.
namespace TESSERA_NAMESPACE::gam {

/// A picture, with its numbers and the individual rows that it shows as CSV.
struct Picture {
  std::string svg;
  std::string csv = {};
  std::string points = {};
};

/// A column of a picture's numbers, NaN being NA, or of its texts.
struct CsvColumn {
  std::string name;
  std::variant<std::vector<double>, std::vector<std::string>> values;
};
/// Columns of one length.
[[nodiscard]] std::string csv_text(std::span<const CsvColumn> columns);
[[nodiscard]] inline std::string csv_text(std::initializer_list<CsvColumn> columns) {
  return csv_text(std::span(columns.begin(), columns.size()));
}

/// A picture of `Plot::svg` with its own style sheet and a size, light or dark by the reader's preference.
/// Colours are literal in the light version, for programs without CSS variables and media queries.
[[nodiscard]] std::string standalone_svg(std::string_view svg);

/// A file name for a label such as "s(x):fa": "s_x_fa", only letters, digits, '.', '_' and '-', at most 80 of
/// them, beginning with a letter or digit; followed by "-2", "-3", … if `taken` contains it, ignoring case.
/// Adds it to `taken`.
[[nodiscard]] std::string figure_name(std::string_view label, std::vector<std::string>& taken);

}  // namespace TESSERA_NAMESPACE::gam

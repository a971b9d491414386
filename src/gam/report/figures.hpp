// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// The pictures of a page as separate files.
namespace TESSERA_NAMESPACE::gam {

/// A picture as SVG, and two CSV texts: the numbers in it, and the individual rows that it shows.
struct Picture {
  std::string svg;
  std::string csv = {};
  std::string points = {};
};

/// A column of a picture's numbers (NaN is written as NA), or of its texts.
struct CsvColumn {
  std::string name;
  std::variant<std::vector<double>, std::vector<std::string>> values;
};
/// CSV of columns of equal length.
[[nodiscard]] std::string csv_text(std::span<const CsvColumn> columns);
[[nodiscard]] inline std::string csv_text(std::initializer_list<CsvColumn> columns) {
  return csv_text(std::span(columns.begin(), columns.size()));
}

/// A picture of `Plot::svg` with a style sheet and a size. It is light or dark as the reader prefers. The
/// light version has literal colours, for programs without CSS variables and media queries.
[[nodiscard]] std::string standalone_svg(std::string_view svg);

/// A file name for a label: "s_x_fa" for "s(x):fa". It has at most 80 letters, digits, '.', '_' and '-', and
/// begins with a letter or digit. "-2", "-3", … is appended if `taken` contains it, ignoring case. Adds the
/// name to `taken`.
[[nodiscard]] std::string figure_name(std::string_view label, std::vector<std::string>& taken);

}  // namespace TESSERA_NAMESPACE::gam

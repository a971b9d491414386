// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// `csv` has the plotted numbers, `points` the individual rows in the plot; empty: none.
struct Picture {
  std::string svg;
  std::string csv = {};
  std::string points = {};
};

/// Numbers or texts. All columns have the same number of elements. NaN is written as NA.
struct CsvColumn {
  std::string name;
  std::variant<std::vector<double>, std::vector<std::string>> values;
};
[[nodiscard]] std::string csv_text(std::span<const CsvColumn> columns);
[[nodiscard]] inline std::string csv_text(std::initializer_list<CsvColumn> columns) {
  return csv_text(std::span(columns.begin(), columns.size()));
}

/// The output of `Plot::svg` with an embedded style sheet and a size, light or dark by
/// `prefers-color-scheme`. All colours are literal, because some viewers do not support CSS variables.
[[nodiscard]] std::string standalone_svg(std::string_view svg);

/// A file name for a label, such as "s_x_fa" for "s(x):fa": letters, digits, '.', '_' and '-', beginning with
/// a letter or digit. Appends "-2", "-3", … if `taken` contains the name, ignoring case. Adds the name to
/// `taken`.
[[nodiscard]] std::string figure_name(std::string_view label, std::vector<std::string>& taken);

}  // namespace TESSERA_NAMESPACE::gam

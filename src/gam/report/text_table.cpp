// SPDX-License-Identifier: Apache-2.0
#include "gam/report/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <tessera/printable.hpp>

namespace TESSERA_NAMESPACE::gam {

std::string_view stars(double p) {
  if (!(p <= 1)) return "";
  if (p < 0.001) return "***";
  if (p < 0.01) return "**";
  if (p < 0.05) return "*";
  return p < 0.1 ? "." : "";
}

std::string p_text(double p) {
  if (std::isnan(p)) return "NA";
  return p < 2.2e-16 ? "<2e-16" : fmt::format("{:.3g}", p);
}

std::string statistic_text(double value) {
  return std::isnan(value) ? "NA" : fmt::format("{:.3f}", value);
}

std::string aligned(TextTable rows) {
  for (auto& row : rows) row[0] = printable(row[0]);
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t j = 0; j < row.size(); ++j) widths[j] = std::max(widths[j], row[j].size());
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line = fmt::format("{:<{}}", row[0], widths[0]);
    for (std::size_t j = 1; j + 1 < row.size(); ++j) line += fmt::format(" {:>{}}", row[j], widths[j]);
    line += " " + row.back();
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace TESSERA_NAMESPACE::gam

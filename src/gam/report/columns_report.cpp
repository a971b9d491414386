// SPDX-License-Identifier: Apache-2.0
#include "gam/report/report_json.hpp"
#include "gam/report/text.hpp"
#include "gam/report/text_table.hpp"

#include "base/pluralised.hpp"

#include <tessera/gam/columns.hpp>
#include <tessera/printable.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

std::string_view kind_of(const ColumnDescription& column) {
  if (column.factor) return column.ordered ? "ordered factor" : "factor";
  return column.whole ? "whole numbers" : "numbers";
}

std::string memory_text(std::int64_t bytes) {
  constexpr std::int64_t kib = 1024;
  if (bytes < kib * kib) return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / kib);
  const double mib = static_cast<double>(bytes) / (kib * kib);
  return mib < kib ? fmt::format("{:.1f} MiB", mib) : fmt::format("{:.1f} GiB", mib / kib);
}

/// A column's range or levels, and remarks on its texts.
std::string values_text(const ColumnDescription& column) {
  std::string text;
  if (column.factor) {
    text = column.too_many_levels
               ? fmt::format("more levels than the {} that a fit takes", count_text(100'000))
               : base::pluralised(column.levels, "level");
    if (!column.first.empty())
      text += fmt::format(": {}{}", fmt::join(column.first, ", "),
                          column.levels > std::ssize(column.first) ? ", ..." : "");
  } else if (!std::isnan(column.least)) {
    text = fmt::format("{:.6g} to {:.6g}", column.least, column.greatest);
  }
  const auto add = [&](const std::string& remark) { text += (text.empty() ? "" : "; ") + remark; };
  if (!column.unit.empty()) add(column.unit);
  if (column.in_quotes) add("all in quotes");
  if (column.blank > 0) add(fmt::format("{} blank", count_text(column.blank)));
  if (column.strays > 0)
    add(fmt::format("{}, the first '{}' in {}", base::pluralised(column.strays, "text"), column.stray,
                    column.stray_place));
  return printable(text);
}

}  // namespace

std::string columns_text(const TableDescription& table) {
  TextTable rows{{"", "kind", "missing", "memory", "values"}};
  std::int64_t bytes = 0;
  for (const ColumnDescription& column : table.columns) {
    rows.push_back({column.name, std::string(kind_of(column)), count_text(column.missing),
                    memory_text(column.bytes), values_text(column)});
    bytes += column.bytes;
  }
  std::string text = fmt::format("{}: {} rows, {}, {} in memory\n\n{}", printable(table.name),
                                 count_text(table.rows), base::pluralised(table.columns.size(), "column"),
                                 memory_text(bytes), aligned(std::move(rows)));
  for (const auto& [name, why] : table.left_out)
    text += fmt::format("no column: {} {}\n", printable(name), why);
  return text;
}

std::string columns_json(const TableDescription& table) {
  ReportJson json{{"table", table.name}, {"rows", table.rows}, {"columns", ReportJson::array()}};
  for (const ColumnDescription& column : table.columns) {
    ReportJson one{{"name", column.name},
                   {"kind", column.factor ? "factor" : "numbers"},
                   {"missing", column.missing},
                   {"bytes", column.bytes}};
    if (column.factor) {
      one["ordered"] = column.ordered;
      one["levels"] = column.levels;
      one["too_many_levels"] = column.too_many_levels;
      one["first_levels"] = column.first;
      one["blank"] = column.blank;
    } else {
      one["least"] = column.least;
      one["greatest"] = column.greatest;
      one["whole"] = column.whole;
      one["in_quotes"] = column.in_quotes;
      if (!column.unit.empty()) one["unit"] = column.unit;
    }
    if (column.strays > 0)
      one["texts"] = {{"count", column.strays}, {"first", column.stray}, {"place", column.stray_place}};
    json["columns"].push_back(std::move(one));
  }
  json["left_out"] = table.left_out;
  return json_text(json);
}

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#include "gam/c/handles.hpp"
#include "gam/c/structures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <variant>
#include <vector>

namespace TESSERA_NAMESPACE::gam::c {
namespace {

struct Column {
  const std::string& name;
  const std::vector<double>* numbers;  ///< null: a factor
  const Factor* factor;                ///< null: numbers
};

Column column_of(const Predictions& answer, std::size_t index) {
  const std::size_t computed = answer.columns.size();
  if (index < computed) return {answer.columns[index].name, &answer.columns[index].values, nullptr};
  if (index - computed >= answer.kept.size())
    refuse(fmt::format("column index {} is out of range: the answer has {} columns, counted from 0", index,
                       computed + answer.kept.size()));
  const Table::Column& kept = answer.kept[index - computed];
  return {kept.name, std::get_if<std::vector<double>>(&kept.values), std::get_if<Factor>(&kept.values)};
}

const std::vector<double>& numbers_of(const Column& column) {
  if (column.numbers == nullptr)
    refuse(
        fmt::format("the column '{}' is a factor, not numeric: read the codes of the factor", column.name));
  return *column.numbers;
}
const Factor& factor_of(const Column& column) {
  if (column.factor == nullptr)
    refuse(
        fmt::format("the column '{}' is numeric, not a factor: read the numbers of the column", column.name));
  return *column.factor;
}

std::size_t rows_of(const Predictions& answer) {
  if (answer.columns.empty() && answer.kept.empty()) return static_cast<std::size_t>(answer.table_rows);
  const Column first = column_of(answer, 0);
  return first.numbers != nullptr ? first.numbers->size() : first.factor->codes.size();
}

template <class Value>
void copy(const std::vector<Value>& from, Value* to, std::size_t count, const char* name) {
  require_count(count, from.size(), name);
  if (count == 0) return;
  require(to, name);
  std::ranges::copy(from, to);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::c

namespace gam = tessera::gam;
namespace c = tessera::gam::c;

int tessera_gam_answer_extent(tessera_gam_answer answer, tessera_gam_answer_info* info) {
  return c::status_of("tessera_gam_answer_extent", [&] {
    c::require(info, "info");
    const auto of = c::table_of(answer);
    c::write_structure(info, {.size = sizeof *info,
                              .rows = c::rows_of(*of),
                              .columns = of->columns.size() + of->kept.size(),
                              .kept = of->kept.size(),
                              .remarks = of->remarks.size(),
                              .constant = of->constant});
  });
}

int tessera_gam_answer_column(tessera_gam_answer answer, size_t index, tessera_gam_column_info* info) {
  return c::status_of("tessera_gam_answer_column", [&] {
    c::require(info, "info");
    const auto of = c::table_of(answer);
    const c::Column column = c::column_of(*of, index);
    tessera_gam_column_info filled{.size = sizeof *info,
                                   .name = nullptr,
                                   .is_factor = column.factor != nullptr ? 1 : 0,
                                   .levels = column.factor != nullptr ? column.factor->levels.size() : 0};
    c::give(column.name, &filled.name);
    c::write_structure(info, filled);
  });
}

int tessera_gam_answer_numbers(tessera_gam_answer answer, size_t index, double* values, size_t count) {
  return c::status_of("tessera_gam_answer_numbers", [&] {
    const auto of = c::table_of(answer);
    c::copy(c::numbers_of(c::column_of(*of, index)), values, count, "values");
  });
}

int tessera_gam_answer_matrix(tessera_gam_answer answer, double* values, size_t count) {
  return c::status_of("tessera_gam_answer_matrix", [&] {
    const auto of = c::table_of(answer);
    c::require_count(count, c::rows_of(*of) * of->columns.size(), "values");
    if (count == 0) return;
    c::require(values, "values");
    for (const gam::Predictions::Column& column : of->columns)
      values = std::ranges::copy(column.values, values).out;
  });
}

int tessera_gam_answer_codes(tessera_gam_answer answer, size_t index, int32_t* codes, size_t count) {
  return c::status_of("tessera_gam_answer_codes", [&] {
    const auto of = c::table_of(answer);
    c::copy(c::factor_of(c::column_of(*of, index)).codes, codes, count, "codes");
  });
}

int tessera_gam_answer_level(tessera_gam_answer answer, size_t index, size_t level, const char** text) {
  return c::status_of("tessera_gam_answer_level", [&] {
    c::require(text, "text");
    const auto of = c::table_of(answer);
    const c::Column column = c::column_of(*of, index);
    const std::vector<std::string>& levels = c::factor_of(column).levels;
    if (level >= levels.size())
      c::refuse(
          fmt::format("the column '{}' has no level with index {}: the column has {} levels, counted from 0",
                      column.name, level, levels.size()));
    c::give(levels[level], text);
  });
}

int tessera_gam_answer_remark(tessera_gam_answer answer, size_t index, const char** text) {
  return c::status_of("tessera_gam_answer_remark", [&] {
    c::require(text, "text");
    const auto of = c::table_of(answer);
    if (index >= of->remarks.size())
      c::refuse(fmt::format("remark index {} is out of range: the answer has {} remarks, counted from 0",
                            index, of->remarks.size()));
    c::give(of->remarks[index], text);
  });
}

int tessera_gam_answer_close(tessera_gam_answer answer) {
  return c::status_of("tessera_gam_answer_close", [&] { c::close_handle(c::Kind::answer, answer); });
}

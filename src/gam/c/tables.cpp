// SPDX-License-Identifier: Apache-2.0
// Tables of callers of the C interface.
#include "gam/c/call.hpp"
#include "gam/c/handles.hpp"

#include <tessera/partition/plan.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam::c {
namespace {

Table& in_memory(AnyTable& table) {
  if (auto* const own = std::get_if<Table>(&table)) return *own;
  refuse("the table is of a file, which has its columns");
}

/// Adds the column that `make` copies from `count` values of the caller.
void add_column(std::uint64_t handle, const char* name, std::size_t count,
                FunctionRef<decltype(Table::Column::values)()> make) {
  Table::Column column{text_of(name, "the column's name"), {}};
  // Before that many values are read.
  change_unused(Kind::table, handle, [&](void* object) {
    const Table& table = in_memory(*static_cast<AnyTable*>(object));
    const auto rows = static_cast<std::size_t>(table.plan.units());
    if (count != rows)
      refuse(fmt::format("the column '{}' has {} rows, and the table has {}", column.name, count, rows));
  });
  column.values = make();
  change_unused(Kind::table, handle, [&](void* object) {
    std::vector<Table::Column>& columns = in_memory(*static_cast<AnyTable*>(object)).columns;
    if (std::ranges::find(columns, column.name, &Table::Column::name) != columns.end())
      refuse(fmt::format("the table has a column '{}' already", column.name));
    columns.push_back(std::move(column));
  });
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::c

namespace gam = tessera::gam;
namespace c = tessera::gam::c;

int tessera_gam_table_open(int64_t rows, const tessera_gam_call* call, tessera_gam_table* table) {
  constexpr const char* function = "tessera_gam_table_open";
  return c::status_of(function, [&] {
    c::require(table, "table");
    if (rows < 1) c::refuse(fmt::format("a table of {} rows: it has 1 or more", rows));
    gam::TableOptions options;
    c::Call(call).read_all(function, options);
    gam::Table opened{tessera::Plan::over_hosts(rows, 1, options.block_rows), {}};
    *table = c::handle_of(c::AnyTable(std::move(opened)));
  });
}

int tessera_gam_table_add_numbers(tessera_gam_table table, const char* name, const double* values,
                                  size_t count) {
  return c::status_of("tessera_gam_table_add_numbers", [&] {
    c::require(values, "values");
    c::add_column(table, name, count, [&] { return std::vector<double>(values, values + count); });
  });
}

int tessera_gam_table_add_factor(tessera_gam_table table, const char* name, const int32_t* codes,
                                 size_t count, const char* const* levels, size_t level_count) {
  return c::status_of("tessera_gam_table_add_factor", [&] {
    c::require(codes, "codes");
    if (level_count > 0) c::require(levels, "levels");
    std::vector<std::string> own;
    for (std::size_t i = 0; i < level_count; ++i) own.push_back(c::text_of(levels[i], "a level"));
    c::add_column(table, name, count, [&] { return gam::Factor{{codes, codes + count}, std::move(own)}; });
  });
}

int tessera_gam_table_of_file(const char* path, const tessera_gam_call* call, tessera_gam_table* table) {
  constexpr const char* function = "tessera_gam_table_of_file";
  return c::status_of(function, [&] {
    c::require(path, "path");  // its bytes are the file system's
    c::require(table, "table");
    gam::TableFile file{path, {}};
    c::Call(call).read_all(function, file.options);
    *table = c::handle_of(c::AnyTable(std::move(file)));
  });
}

int tessera_gam_table_close(tessera_gam_table table) {
  return c::status_of("tessera_gam_table_close", [&] { c::close_handle(c::Kind::table, table); });
}

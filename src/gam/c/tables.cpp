// SPDX-License-Identifier: Apache-2.0
#include "gam/c/call.hpp"
#include "gam/c/handles.hpp"
#include "gam/data/arrow/arrow_columns.hpp"

#include <tessera/gam/arrow.hpp>
#include <tessera/gam/columns.hpp>
#include <tessera/job/host_team.hpp>
#include <tessera/partition/plan.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam::c {
namespace {

Table& in_memory(void* object) {
  Table& table = *static_cast<Table*>(object);
  if (!table.in_files()) return table;
  refuse("a column cannot be added to a table that is read from a file: create a table in memory");
}

/// The number of rows of a table in memory, to validate a column's length before its values are read.
std::size_t rows_of(std::uint64_t handle) {
  std::size_t rows = 0;
  change_unused(Kind::table, handle,
                [&](void* table) { rows = static_cast<std::size_t>(in_memory(table).plan.units()); });
  return rows;
}

void require_rows(const std::string& column, std::size_t count, std::size_t rows) {
  if (count != rows)
    refuse(fmt::format("the column '{}' has {} rows, but the table has {} rows: give columns of equal length",
                       column, count, rows));
}

LevelOrder order_of(std::int32_t given) {
  switch (given) {
    case TESSERA_GAM_LEVELS_SORTED: return LevelOrder::sorted;
    case TESSERA_GAM_LEVELS_GIVEN: return LevelOrder::given;
    case TESSERA_GAM_LEVELS_ORDERED: return LevelOrder::ordered;
    default:
      refuse(fmt::format("unknown order of levels {}: give TESSERA_GAM_LEVELS_SORTED, _GIVEN or _ORDERED",
                         given));
  }
}

/// Adds a column to a table in memory. `owner` keeps the column's values alive.
void add_column(std::uint64_t handle, Table::Column column, std::shared_ptr<const void> owner = nullptr) {
  change_unused(Kind::table, handle, [&](void* object) {
    Table& table = in_memory(object);
    if (std::ranges::find(table.columns, column.name, &Table::Column::name) != table.columns.end())
      refuse(fmt::format("the table already has a column '{}': give another name", column.name));
    if (owner) table.owners.push_back(std::move(owner));
    table.columns.push_back(std::move(column));
  });
}

int table_of_files(const char* function, const char* const* paths, std::size_t count,
                   const tessera_gam_call* call, tessera_gam_table* table) {
  return status_of(function, [&] {
    require(paths, "paths");
    require_possible(count, "paths");
    std::vector<std::string> files;
    for (std::size_t i = 0; i < count; ++i) {
      require(paths[i], "path");  // any bytes: a path need not be UTF-8
      files.emplace_back(paths[i]);
    }
    require(table, "table");
    TableOptions options;
    Call given(call);
    given.read_all(function, options);
    given.stop_if_cancelled();
    *table = handle_of(Table(std::move(files), std::move(options)));
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
    if (rows < 1) c::refuse(fmt::format("a table cannot have {} rows: give 1 or more", rows));
    c::require_possible(static_cast<std::size_t>(rows), "the table");
    gam::TableOptions options;
    c::Call given(call);
    given.read_all(function, options);
    given.stop_if_cancelled();
    *table = c::handle_of(gam::Table(tessera::Plan::over_hosts(rows, 1, options.block_rows), {}));
  });
}

int tessera_gam_table_add_numbers(tessera_gam_table table, const char* name, const double* values,
                                  size_t count) {
  return c::status_of("tessera_gam_table_add_numbers", [&] {
    c::require(values, "values");
    const std::string column = c::text_of(name, "the column's name");
    c::require_rows(column, count, c::rows_of(table));
    c::add_column(table, {column, gam::NumberSpans{{{values, count}}}});
  });
}

int tessera_gam_table_add_integers(tessera_gam_table table, const char* name, const int32_t* values,
                                   size_t count) {
  return c::status_of("tessera_gam_table_add_integers", [&] {
    c::require(values, "values");
    const std::string column = c::text_of(name, "the column's name");
    c::require_rows(column, count, c::rows_of(table));
    c::add_column(table, {column, gam::IntegerSpans{{{values, count}}}});
  });
}

int tessera_gam_table_add_factor(tessera_gam_table table, const char* name, const int32_t* codes,
                                 size_t count, const char* const* levels, size_t level_count,
                                 int32_t level_order) {
  return c::status_of("tessera_gam_table_add_factor", [&] {
    c::require(codes, "codes");
    if (level_count > 0) c::require(levels, "levels");
    c::require_possible(level_count, "levels");
    const gam::LevelOrder order = c::order_of(level_order);
    std::vector<std::string> own;
    for (std::size_t i = 0; i < level_count; ++i) own.push_back(c::text_of(levels[i], "a level"));
    const std::string column = c::text_of(name, "the column's name");
    c::require_rows(column, count, c::rows_of(table));
    c::add_column(table, {column, gam::Factor{{codes, codes + count}, std::move(own), order}});
  });
}

int tessera_gam_table_add_arrow(tessera_gam_table table, const char* name, struct ArrowSchema* schema,
                                struct ArrowArray* chunks, size_t chunk_count) {
  const gam::HandedOver<ArrowSchema> handed_over(schema, 1);
  const gam::HandedOver<ArrowArray> chunks_too(chunks, c::is_possible(chunk_count) ? chunk_count : 0);
  return c::status_of("tessera_gam_table_add_arrow", [&] {
    c::require_possible(chunk_count, "chunks");
    if (chunk_count > 0) c::require(chunks, "chunks");
    const std::string column = c::text_of(name, "the column's name");
    const std::size_t rows = c::rows_of(table);
    tessera::HostTeam team(1);
    auto read = std::make_shared<gam::ArrowColumns>(gam::take_column(column, schema, {chunks, chunk_count}),
                                                    gam::ArrowOptions{}, team);
    read->set_levels(read->levels(), team);
    c::require_rows(column, static_cast<std::size_t>(read->rows()), rows);
    gam::Table::Column of_table = std::move(read->columns().front());
    c::add_column(table, std::move(of_table), std::move(read));
  });
}

int tessera_gam_table_of_arrow(struct ArrowArrayStream* stream, const tessera_gam_call* call,
                               tessera_gam_table* table) {
  constexpr const char* function = "tessera_gam_table_of_arrow";
  const gam::HandedOver<ArrowArrayStream> handed_over(stream, 1);
  return c::status_of(function, [&] {
    c::require(stream, "stream");
    c::require(table, "table");
    c::Call given(call);
    gam::ArrowOptions options;
    tessera::JobOptions job_options;
    given.read_all(function, options, job_options);
    job_options.policy = tessera::Policy::cpu;
    std::optional<gam::Table> read;
    given.run(job_options,
              [&](tessera::Job& job, gam::FitObserver*) { read = gam::arrow_table(job, stream, options); });
    *table = c::handle_of(*std::move(read));
  });
}

int tessera_gam_table_of_file(const char* path, const tessera_gam_call* call, tessera_gam_table* table) {
  return c::table_of_files("tessera_gam_table_of_file", &path, 1, call, table);
}

int tessera_gam_table_of_files(const char* const* paths, size_t count, const tessera_gam_call* call,
                               tessera_gam_table* table) {
  return c::table_of_files("tessera_gam_table_of_files", paths, count, call, table);
}

int tessera_gam_columns(tessera_gam_table table, const char* const* columns, size_t count,
                        const tessera_gam_call* call, int32_t form, const char** text, size_t* length) {
  constexpr const char* function = "tessera_gam_columns";
  return c::status_of(function, [&] {
    c::require_form(form, text);
    if (count > 0) c::require(columns, "columns");
    c::require_possible(count, "columns");
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i) names.push_back(c::text_of(columns[i], "a column's name"));
    const auto rows = c::object_of<gam::Table>(table);
    c::Call given(call);
    tessera::JobOptions job_options;
    given.read_all(function, job_options);
    job_options.policy = tessera::Policy::cpu;
    gam::TableDescription found;
    given.run(job_options,
              [&](tessera::Job& job, gam::FitObserver*) { found = describe_columns(job, *rows, names); });
    c::give(c::report_in(
                form, [&] { return columns_text(found); }, [&] { return columns_json(found); }),
            text, length);
  });
}

int tessera_gam_table_close(tessera_gam_table table) {
  return c::status_of("tessera_gam_table_close", [&] { c::close_handle(c::Kind::table, table); });
}

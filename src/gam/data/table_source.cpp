// SPDX-License-Identifier: Apache-2.0
#include "gam/data/table_source.hpp"

#include "base/errors.hpp"
#include "gam/data/folder/file_listing.hpp"
#include "gam/data/frame/computed_variables.hpp"
#include "gam/data/memory/memory_table.hpp"

#include <tessera/error.hpp>
#include <tessera/job/together.hpp>

#include <algorithm>
#include <iterator>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

void stop_if_asked(StopRequest* stop) {
  if (stop == nullptr) return;
  stop->poll();
  if (stop->requested()) throw Error(ErrorCode::interrupted, "the job was asked to stop");
}

TableSource source_of(const Table& table) {
  if (table.in_files()) return {.name = name_of(table.paths), .options = table.options, .paths = table.paths};
  return {.name = memory_name,
          .options = {.missing = {}, .block_rows = table.plan.block()},
          .plan = table.plan.ranks() > 1 ? std::optional(table.plan) : std::nullopt,
          .in_memory = &table};
}

std::unique_ptr<TableReader> open_source(const Workers& workers, const TableSource& source, StopRequest* stop,
                                         OpenOptions options) {
  options.between = [stop] { stop_if_asked(stop); };
  options.table = source.options;
  auto table = source.in_memory != nullptr ? open_memory(workers, *source.in_memory, options.between)
                                           : open_table(workers, source.paths, options);
  if (source.expected) {
    together(workers.comm, [&] {
      if (workers.comm.rank() == 0 && table->opened() != source.expected)
        throw base::input_error("{}: was replaced or written to while the job started: start the job again",
                                source.name);
    });
  }
  return table;
}

namespace {

/// Whether the column is logical, according to the fit or else to the table.
bool has_truths(const TableReader& table, const Recipe* recipe, const std::string& name) {
  if (recipe != nullptr) {
    const auto known = std::ranges::find(recipe->columns, name, &Recipe::Column::name);
    if (known != recipe->columns.end()) return known->type.kind == ValueType::Kind::logical;
  }
  return table.has_truths(name);
}

/// Marks expressions with logical columns as computed, because levels are not read as numbers.
void compute_with_truths(const TableReader& table, FrameRequest& request) {
  for (Expression& variable : request.variables) {
    if (variable.is_column() || variable.computed()) continue;
    const std::vector<std::string> columns = variable.columns();
    const auto truths = [&](const std::string& name) { return has_truths(table, request.recipe, name); };
    if (std::ranges::none_of(columns, truths)) continue;
    variable.source = variable.text;
    variable.reads = columns;
    std::ranges::remove_copy_if(columns, std::back_inserter(variable.numeric), truths);
  }
}

}  // namespace

Frame read_variables(TableReader& table, const Workers& workers, FrameRequest request, Range rows) {
  compute_with_truths(table, request);
  if (!has_computed_variables(request)) {
    // Adding the columns as variables makes no further row incomplete: if a column is missing in a row, so is
    // the expression that reads the column.
    request.variables.insert(request.variables.end(), request.columns.begin(), request.columns.end());
    return table.read(workers, request, rows);
  }
  return computed_frame(workers, table.read(workers, columns_of(request), rows), request);
}

}  // namespace TESSERA_NAMESPACE::gam

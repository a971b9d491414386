// SPDX-License-Identifier: Apache-2.0
#include "gam/table/table_source.hpp"

#include "gam/table/frame/computed_variables.hpp"
#include "gam/table/memory/memory_table.hpp"

#include <tessera/error.hpp>
#include <tessera/job/together.hpp>

#include <fmt/format.h>

namespace TESSERA_NAMESPACE::gam {

void stop_if_asked(StopRequest* stop) {
  if (stop == nullptr) return;
  stop->poll();
  if (stop->requested()) throw Error(ErrorCode::interrupted, "asked to stop");
}

TableSource source_of(const TableFile& file) {
  return {
      .name = file.path,
      .options = file.options,
      .plan = {},
      .open = [path = file.path](const Workers& workers,
                                 const OpenOptions& options) { return open_table(workers, path, options); },
      .expected = {}};
}

TableSource source_of(const Table& table) {
  return {
      .name = memory_name,
      .options = {.missing = {}, .block_rows = table.plan.block()},
      .plan = table.plan.ranks() > 1 ? std::optional(table.plan) : std::nullopt,
      .open = [&table](const Workers& workers,
                       const OpenOptions& options) { return open_memory(workers, table, options.between); },
      .expected = {}};
}

std::unique_ptr<TableReader> open_source(const Workers& workers, const TableSource& source, StopRequest* stop,
                                         OpenOptions options) {
  options.between = [stop] { stop_if_asked(stop); };
  auto table = source.open(workers, options);
  if (source.expected) {
    together(workers.comm, [&] {
      if (workers.comm.rank() == 0 && table->opened() != source.expected)
        throw Error(
            ErrorCode::input,
            fmt::format("{}: was replaced or written to while the job started: start it again", source.name));
    });
  }
  return table;
}

Frame read_variables(TableReader& table, const Workers& workers, const FrameRequest& request, Range rows) {
  if (!has_computed_variables(request)) {
    // A row that lacks a number of an expression lacks that of the expression.
    FrameRequest all = request;
    all.variables.insert(all.variables.end(), request.columns.begin(), request.columns.end());
    return table.read(workers, all, rows);
  }
  return computed_frame(workers, table.read(workers, columns_of(request), rows), request);
}

}  // namespace TESSERA_NAMESPACE::gam

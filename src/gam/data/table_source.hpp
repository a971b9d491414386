// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/bytes/byte_source.hpp"
#include "gam/data/source/table_reader.hpp"

#include <tessera/gam/table.hpp>
#include <tessera/job/stop_request.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "files/input_file.hpp"

namespace TESSERA_NAMESPACE::gam {

/// The table for a fit or prediction: files, or columns in memory. Refers to the caller's table, which must
/// outlive this object.
struct TableSource {
  std::string name;
  TableOptions options;
  /// For a table in memory on several ranks: its distribution over them; otherwise the caller makes a plan.
  std::optional<Plan> plan{};
  std::vector<std::string> paths{};  ///< paths of the files; none: the table is in memory
  const Table* in_memory = nullptr;
  /// The file state that rank 0 expects; set on every rank or on none. `open_source` refuses any other state.
  std::optional<files::FileState> expected{};
};

/// The source of a table, in files or in memory.
[[nodiscard]] TableSource source_of(const Table& table);

/// Throws `Error(interrupted)` if `stop` (may be null) asks this rank to stop, or knows that another rank was
/// asked. Must be called on the thread that calls MPI.
void stop_if_asked(StopRequest* stop);

/// *Collective.* Opens a source. Throws the same `Error` on every rank, like `open_table` and `open_memory`,
/// and `Error(input)` if the file is not in the expected state. Opening and reading end with
/// `Error(interrupted)` once `stop` (which may be null) asks this rank to stop: for this, `options.between`
/// is replaced. `options.table` is replaced by the options of the source.
[[nodiscard]] std::unique_ptr<TableReader> open_source(const Workers& workers, const TableSource& source,
                                                       StopRequest* stop, OpenOptions options = {});

/// *Collective.* Like `TableReader::read`, also for variables that depend on the columns' types or on all
/// rows (frame/computed_variables.hpp).
[[nodiscard]] Frame read_variables(TableReader& table, const Workers& workers, FrameRequest request,
                                   Range rows);

}  // namespace TESSERA_NAMESPACE::gam

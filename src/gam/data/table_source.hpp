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

/// The source of the rows of a fit or a prediction: a file, or columns in memory. Refers to the table, which
/// must outlive it.
struct TableSource {
  std::string name;      ///< for messages
  TableOptions options;  ///< how its fields are read
  /// Distribution of a table in memory over several ranks; else the caller makes a plan.
  std::optional<Plan> plan{};
  std::vector<std::string> paths{};  ///< of the files; none: the table is in memory
  const Table* in_memory = nullptr;
  /// The state of the file on rank 0, known on every rank or on none: `open_source` refuses any other file.
  std::optional<files::FileState> expected{};
};

/// Throws `Error(usage)` for a table in several files.
[[nodiscard]] TableSource source_of(const Table& table);

/// Throws `Error(interrupted)` if this rank was asked to stop (`stop`, or null), or has learned that another
/// was. Call it on the thread that calls MPI.
void stop_if_asked(StopRequest* stop);

/// *Collective.* Opens a source. Throws the same `Error` on every rank, as `open_table` and `open_memory` do,
/// and `Error(input)` for a file that has replaced the expected one. If this rank is asked to stop (`stop`,
/// or null), opening and reading end with an `Error(interrupted)`; this replaces `options.between`.
[[nodiscard]] std::unique_ptr<TableReader> open_source(const Workers& workers, const TableSource& source,
                                                       StopRequest* stop, OpenOptions options = {});

/// *Collective.* `TableReader::read` for any variables, including those that depend on the columns' types or
/// on all rows (frame/computed_variables.hpp).
[[nodiscard]] Frame read_variables(TableReader& table, const Workers& workers, FrameRequest request,
                                   Range rows);

}  // namespace TESSERA_NAMESPACE::gam

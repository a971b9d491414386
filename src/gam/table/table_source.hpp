// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/table/bytes/byte_source.hpp"
#include "gam/table/reader/table_reader.hpp"

#include <tessera/gam/table.hpp>
#include <tessera/job/stop_request.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "files/input_file.hpp"

namespace tessera::gam {

/// Where a fit or a prediction has its rows from: a file, or columns in memory. It refers to what it was made
/// of, which must stay.
struct TableSource {
  std::string name;          ///< for messages
  TableOptions options;      ///< how its fields are read
  std::optional<Plan> plan;  ///< of a table in memory, whose rows lie by it; else the caller makes one
  std::function<std::unique_ptr<TableReader>(const Workers&, const OpenOptions&)> open;
  /// What rank 0 takes for the file, on every rank or on none: `open_source` refuses another.
  std::optional<files::FileState> expected;
};

[[nodiscard]] TableSource source_of(const TableFile& file);
[[nodiscard]] TableSource source_of(const Table& table);

/// *Collective.* Opens a source. Throws the same `Error` on every rank, as `open_table` and `open_memory` do,
/// and `Error(input)` for a file that came into the place of the one that is expected. A request to stop that
/// reaches this rank, `stop` if it is not null, ends the opening and the reading by an `Error(interrupted)`:
/// it takes the place of `options.between`.
[[nodiscard]] std::unique_ptr<TableReader> open_source(const Workers& workers, const TableSource& source,
                                                       StopRequest* stop, OpenOptions options = {});

}  // namespace tessera::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/bytes/byte_source.hpp"
#include "gam/data/frame/frame.hpp"
#include "gam/data/frame/workers.hpp"

#include <tessera/partition/plan.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "files/input_file.hpp"

namespace TESSERA_NAMESPACE::gam {

/// A table that every rank can open: CSV (also gzip-compressed) or HDF5 with one dataset a column.
///
///     auto table = open_table(workers, "data.csv");         // collective: counts the rows
///     auto plan = job.plan(table->rows(), block_rows);
///     Frame frame = table->read(workers, request, job.local_range(plan));
class TableReader {
 public:
  virtual ~TableReader() = default;
  /// Data rows of the file, the same on every rank.
  [[nodiscard]] virtual std::int64_t rows() const = 0;
  [[nodiscard]] virtual std::vector<std::string> columns() const = 0;
  /// Columns that are R's ordered factors.
  [[nodiscard]] virtual std::vector<std::string> ordered_columns() const { return {}; }
  /// All other names in the file; for each, why it is not a column and what to do, in words that follow the
  /// name.
  [[nodiscard]] virtual std::map<std::string, std::string> left_out() const { return {}; }
  /// *Collective.* Reads this rank's rows. Throws the same `Error(input)` on every rank: unknown column,
  /// malformed line (with its number), text in an expression that needs numbers, too little memory on a node
  /// for its rows, a table that was written to since it was opened.
  [[nodiscard]] virtual Frame read(const Workers& workers, const FrameRequest& request, Range rows) = 0;
  /// Numbers of a column of this rank's rows that `read` will not copy; null if there are none.
  [[nodiscard]] virtual const ColumnNumbers* numbers_in_memory(std::string_view /*column*/) const {
    return nullptr;
  }
  /// Whether a column is known to be logical.
  [[nodiscard]] virtual bool has_truths(std::string_view /*column*/) const { return false; }
  /// The state of the file when this rank opened it.
  [[nodiscard]] virtual files::FileState opened() const = 0;
  /// Bytes that this rank has read from the file so far.
  [[nodiscard]] virtual std::int64_t bytes_read() const = 0;
  /// Bytes of memory in which this rank stores the text of a packed file; `read` frees them if its columns
  /// need the memory.
  [[nodiscard]] virtual std::int64_t kept_bytes() const { return 0; }
};

/// *Collective.* Throws the same `Error(input)` on every rank: a missing or empty file, a file of neither
/// format, or different files on different ranks (see shared_input.hpp). `options.between` is called while
/// the file is opened and while it is read, on the calling thread; an `Error` that it throws on one rank is
/// thrown on every rank.
[[nodiscard]] std::unique_ptr<TableReader> open_table(const Workers& workers, const std::string& path,
                                                      const OpenOptions& options = {});

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/bytes/byte_source.hpp"
#include "gam/data/frame/frame_builder.hpp"
#include "gam/data/frame/workers.hpp"

#include <tessera/partition/plan.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "files/input_file.hpp"

namespace TESSERA_NAMESPACE::gam {

/// An open table: a file, a list of files, or columns in memory.
///
///     auto table = open_table(workers, "data.csv");         // collective: counts the rows
///     auto plan = job.plan(table->rows(), block_rows);
///     Frame frame = table->read(workers, request, job.local_range(plan));
class TableReader {
 public:
  TableReader() = default;
  virtual ~TableReader() = default;
  TableReader(const TableReader&) = delete;
  TableReader& operator=(const TableReader&) = delete;

  /// *Collective.* Reads this rank's rows. Throws the same `Error(input)` on every rank: unknown column,
  /// malformed line (with its number), text in an expression that needs numbers, too little memory on a node
  /// for its rows, a table modified since it was opened. `strays`: see `ReadPlan::set_strays`.
  [[nodiscard]] Frame read(const Workers& workers, const FrameRequest& request, Range rows,
                           std::vector<StrayTexts>* strays = nullptr);

  /// Data rows of the table, the same on every rank.
  [[nodiscard]] virtual std::int64_t rows() const = 0;
  [[nodiscard]] virtual std::vector<std::string> columns() const = 0;
  /// Columns that are R's ordered factors.
  [[nodiscard]] virtual std::vector<std::string> ordered_columns() const { return {}; }
  /// The column that names the rows; empty: none.
  [[nodiscard]] virtual std::string row_names() const { return {}; }
  /// Names in the file that are not columns, with the reason and the remedy in words that follow the name in
  /// a message.
  [[nodiscard]] virtual std::map<std::string, std::string> left_out() const { return {}; }
  /// This rank's numbers of a column if `read` borrows them instead of copying; otherwise null.
  [[nodiscard]] virtual const ColumnNumbers* numbers_in_memory(std::string_view /*column*/) const {
    return nullptr;
  }
  [[nodiscard]] virtual bool has_truths(std::string_view /*column*/) const { return false; }
  /// The state of the file when this rank opened it.
  [[nodiscard]] virtual files::FileState opened() const = 0;
  /// Number of bytes that this rank has read from the file so far.
  [[nodiscard]] virtual std::int64_t bytes_read() const = 0;
  /// Bytes of decompressed text that this rank caches; `read` frees the cache if columns need the memory.
  [[nodiscard]] virtual std::int64_t kept_bytes() const { return 0; }
  virtual void let_go_of_kept() {}

  [[nodiscard]] virtual std::string name() const = 0;
  /// The unit of row numbers in messages: "row" or "line".
  [[nodiscard]] virtual std::string_view row_word() const { return "row"; }
  /// The types of the columns in words, e.g. "numbers", if the source declares types; otherwise empty.
  [[nodiscard]] virtual std::vector<std::string> kinds() const { return {}; }
  /// The plan for the columns of a request, with the types that the source declares. The caller sets the
  /// types of `more_columns`. Throws like `ReadPlan`, and for a column in `left_out`.
  [[nodiscard]] virtual ReadPlan plan(const FrameRequest& request,
                                      std::span<const std::string> more_columns) const;
  /// A scan of the rows on `threads` threads. The plan may have columns that the source lacks.
  [[nodiscard]] virtual std::unique_ptr<RowScan> scan(const ReadPlan& plan, int threads) = 0;
  /// For messages: "data.csv, line 12".
  [[nodiscard]] virtual std::string place(std::int64_t row_number) const;
  /// *Collective.* Runs `work`, a reading of the table, and checks that the table was not modified: see
  /// `SharedTable::read`.
  [[nodiscard]] virtual Frame read_unchanged(const mpi::Communicator& /*comm*/,
                                             const std::function<Frame()>& work) const {
    return work();
  }

 private:
  [[nodiscard]] Frame read_rows(const Workers& workers, ReadPlan& plan, Range rows);
  /// Adds to the plan what the source knows about columns.
  virtual void describe(ReadPlan& /*plan*/) const {}
};

/// *Collective.* Opens the files at these paths, and the files within folders among them, as one table, in
/// the order of folder/file_listing.hpp. Throws the same `Error(input)` on every rank for a missing or empty
/// file, a file of no known format, files of different tables, or different files on different ranks
/// (shared_input.hpp). `options.between` is called on the calling thread while files are opened and read; its
/// `Error` on one rank is thrown on every rank.
[[nodiscard]] std::unique_ptr<TableReader> open_table(const Workers& workers,
                                                      const std::vector<std::string>& paths,
                                                      const OpenOptions& options = {});
[[nodiscard]] std::unique_ptr<TableReader> open_table(const Workers& workers, const std::string& path,
                                                      const OpenOptions& options = {});

}  // namespace TESSERA_NAMESPACE::gam

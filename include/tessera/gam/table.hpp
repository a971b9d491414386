// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/error.hpp>
#include <tessera/gam/formula.hpp>
#include <tessera/gam/table_options.hpp>
#include <tessera/job/job.hpp>
#include <tessera/partition/plan.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

/// Tables, the data of models: files that all ranks can open, or columns in memory.
namespace TESSERA_NAMESPACE::gam {

/// The order of a factor's levels in a model; the first is the reference level.
enum class LevelOrder {
  sorted,  ///< by value if all are numbers, otherwise by bytes, as for files
  given,   ///< the order of the column, like a factor of R
  ordered  ///< the order of the column, with polynomial contrasts, like an ordered factor of R
};

/// A categorical column: `codes[i]` is the index in `levels` of the level of row i, or negative for a missing
/// value.
struct Factor {
  std::vector<std::int32_t> codes;
  std::vector<std::string> levels;  ///< the same on every rank; UTF-8
  LevelOrder order = LevelOrder::sorted;
};

/// A column of numbers in the caller's memory, in one or more consecutive spans of any lengths, which are not
/// copied. NaN is a missing value.
struct NumberSpans {
  std::vector<std::span<const double>> pieces;
};

/// A column of integers in the caller's memory; INT32_MIN, R's NA_integer_, is a missing value.
struct IntegerSpans {
  std::vector<std::span<const std::int32_t>> pieces;
};

/// A `Factor` whose codes are in the caller's memory.
struct FactorSpans {
  std::vector<std::span<const std::int32_t>> codes;
  std::vector<std::string> levels;
  LevelOrder order = LevelOrder::sorted;
};

/// A table in files or in memory. Files are CSV (also compressed by gzip), HDF5 with a dataset for each
/// column, Parquet or Feather. Every rank must find the same content at the paths. The files are read by the
/// call that uses the table: each rank reads its own rows.
///
///     const auto model = gam::fit(job, formula, gam::Table{"data.csv"}).model;
///     gam::Table coded{"data.csv", {.missing = {"NA", "-999"}, .factors = {"site"}}};
///     gam::Table sales{"sales/"};  // sales/year=2025/region=north/part-0.parquet, …
///
/// A folder stands for all files within it, ordered by the bytes of their paths, except files whose names
/// begin with '_' or '.'. Folders named KEY=VALUE give a column KEY, as in Hive. All files must have the
/// columns of the first file.
///
/// In memory each rank has its own rows, `job.local_range(plan)` of them, of every column:
///
///     const tessera::Plan plan = job.plan(rows, 8192);
///     gam::Table table{plan, {{"y", y}, {"site", gam::Factor{codes, {"bay", "cape"}}}}};
///     gam::Table same{plan, {{"y", gam::NumberSpans{{y}}},            // y and codes are not copied
///                            {"site", gam::FactorSpans{{codes}, {"bay", "cape"}}}}};
///
/// The units of the plan are the rows of the table. For one block size of the plan, a model has the same bits
/// for any number of ranks and threads and for any storage of the columns; another block size gives other
/// bits. A job of a single rank has all rows, and uses only the plan's number of units and block size. A call
/// that uses the table reads numbers in place: they must not change before the call returns.
///
/// Errors of a table are found by the call that uses it, which throws the same `Error` on every rank: `usage`
/// for a column whose length differs from the rank's rows, two columns of one name, a code without a level,
/// duplicate levels, columns or levels that differ between ranks, and a plan over other ranks; `input`, with
/// file and line, for a file that cannot be read or is not such a table, a text among numbers, a column that
/// does not exist, a table without rows, and data in memory that would be invalid in a file.
struct Table {
  struct Column {
    std::string name;
    /// Numbers, with NaN for missing values, or levels. The memory of spans must outlive all uses of the
    /// table.
    std::variant<std::vector<double>, Factor, NumberSpans, FactorSpans, IntegerSpans> values;
  };

  Table() = default;  ///< in memory, without rows
  /// In memory.
  Table(Plan division, std::vector<Column> in_memory, std::vector<std::shared_ptr<const void>> owning = {})
      : plan(std::move(division)), columns(std::move(in_memory)), owners(std::move(owning)) {}
  /// A table in a file or a folder.
  explicit Table(std::string path, TableOptions reading = {})
      : Table(std::vector<std::string>{std::move(path)}, std::move(reading)) {}
  /// A table in files and folders, whose rows follow each other in this order. Throws `Error(usage)` without
  /// a path.
  explicit Table(std::vector<std::string> files, TableOptions reading = {})
      : paths(std::move(files)), options(std::move(reading)) {
    if (paths.empty()) throw Error(ErrorCode::usage, "a table of files has no path: give one or more");
  }

  [[nodiscard]] bool in_files() const noexcept { return !paths.empty(); }

  Plan plan{};                                        ///< for a table in memory: division of its rows
  std::vector<Column> columns{};                      ///< for a table in memory
  std::vector<std::shared_ptr<const void>> owners{};  ///< owners of spans' memory; empty: the caller owns it
  std::vector<std::string> paths{};                   ///< files and folders; empty: the table is in memory
  TableOptions options{};                             ///< for files: how fields are parsed
};

/// *Collective.* Reads the columns of a formula, and those named by `Table::options`, into memory, for
/// several fits of the same rows. Types, levels and missing values are the same as in a fit of the files. A
/// table in memory is returned unchanged. Throws the same `Error` on every rank: `input` as described at
/// `Table`, and for rows that exceed a node's memory; `interrupted` after a stop request. Call it on the
/// thread that calls MPI. Cost: all ranks together scan a file once to count its rows; then each rank reads
/// its own rows.
[[nodiscard]] TESSERA_EXPORT Table read_table(Job& job, const Table& table, const Formula& formula);

}  // namespace TESSERA_NAMESPACE::gam

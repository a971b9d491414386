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

/// Sources of a model's rows: files that all ranks can open, or columns in memory.
namespace TESSERA_NAMESPACE::gam {

/// The order of a factor's levels in a model; the first is the reference level.
enum class LevelOrder {
  sorted,  ///< as for files: by value if all are numbers, otherwise by bytes
  given,   ///< the order of the column, like a factor of R
  ordered  ///< the order of the column; levels are steps of a scale, as in R's ordered factor: polynomial
           ///< contrasts
};

/// A column of levels: `codes[i]` is the index in `levels` of the level of row i, or negative for a missing
/// value.
struct Factor {
  std::vector<std::int32_t> codes;
  std::vector<std::string> levels;  ///< the same on every rank; UTF-8
  LevelOrder order = LevelOrder::sorted;
};

/// Numbers in place, in one span or several consecutive ones, of any lengths, neither joined nor copied. A
/// missing value is NaN.
struct NumberSpans {
  std::vector<std::span<const double>> pieces;
};

/// Integers in place; a missing value is the smallest int32, R's NA_integer_.
struct IntegerSpans {
  std::vector<std::span<const std::int32_t>> pieces;
};

/// The codes of a `Factor` in place.
struct FactorSpans {
  std::vector<std::span<const std::int32_t>> codes;
  std::vector<std::string> levels;
  LevelOrder order = LevelOrder::sorted;
};

/// A table in files or in memory. Files are CSV (also compressed by gzip), HDF5 with a dataset for each
/// column, Parquet or Feather, at paths that lead every rank to the same content. The files are read by the
/// call that uses the table: each rank reads its own rows.
///
///     const auto model = gam::fit(job, formula, gam::Table{"data.csv"}).model;
///     gam::Table coded{"data.csv", {.missing = {"NA", "-999"}, .factors = {"site"}}};
///     gam::Table sales{"sales/"};  // sales/year=2025/region=north/part-0.parquet, …
///
/// A folder stands for all files within it, ordered by the bytes of their paths, except those whose names
/// begin with '_' or '.'; folders named KEY=VALUE give a column KEY, as in Hive. All files have the columns
/// of the first.
///
/// In memory each rank has its own rows, `job.local_range(plan)` of them, of every column:
///
///     const tessera::Plan plan = job.plan(rows, 8192);
///     gam::Table table{plan, {{"y", y}, {"site", gam::Factor{codes, {"bay", "cape"}}}}};
///     gam::Table same{plan, {{"y", gam::NumberSpans{{y}}},            // y and codes are not copied
///                            {"site", gam::FactorSpans{{codes}, {"bay", "cape"}}}}};
///
/// Units of the plan are the rows of the table. Its block is the unit of reproducibility: a model has the
/// same bits for any number of ranks and threads, whatever the storage of columns, but other bits for another
/// block. A single rank has all rows, and uses only the plan's number of rows and block. A call reads numbers
/// in place: they must not change before it returns.
///
/// Errors of a table are found by the call that uses it, which throws the same `Error` on every rank: `usage`
/// for a column whose length differs from the rank's rows, two columns of one name, a code without a level,
/// duplicate levels, columns or levels that differ between ranks, and a plan over other ranks; `input`, with
/// file and line, for a file that cannot be read or is not such a table, a text among numbers, a column that
/// does not exist, a table without a row, and data in memory that would be refused in a file.
struct Table {
  struct Column {
    std::string name;
    /// Numbers, with NaN for missing values, or levels. Spans must outlive the table's use.
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

  Plan plan{};                                        ///< for a table in memory: the distribution of the rows
  std::vector<Column> columns{};                      ///< for a table in memory
  std::vector<std::shared_ptr<const void>> owners{};  ///< owners of the spans' memory; none: the caller owns
                                                      ///< it
  std::vector<std::string> paths{};                   ///< files and folders; none: the table is in memory
  TableOptions options{};                             ///< for files: how fields are parsed
};

/// *Collective.* Reads the columns of a formula, and those named by `Table::options`, into memory, for
/// several fits of the same rows. Types, levels and missing values are as in a fit of the files. A table in
/// memory is returned as it is. Throws the same `Error` on every rank: `input` as described at `Table`, and
/// for rows that exceed a node's memory; `interrupted` if the job is asked to stop. Call it on the thread
/// that calls MPI. Cost: all ranks together scan a file once to count its rows, and then each rank reads its
/// own rows.
[[nodiscard]] TESSERA_EXPORT Table read_table(Job& job, const Table& table, const Formula& formula);

}  // namespace TESSERA_NAMESPACE::gam

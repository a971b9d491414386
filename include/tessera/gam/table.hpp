// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/formula.hpp>
#include <tessera/gam/table_options.hpp>
#include <tessera/job/job.hpp>
#include <tessera/partition/plan.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

/// Sources of a model's rows: a file that all ranks can open, or columns in memory.
namespace TESSERA_NAMESPACE::gam {

/// The order of a factor's levels in a model; the first is the reference level.
enum class LevelOrder {
  sorted,  ///< as for files: by value if all are numbers, otherwise by bytes
  given,   ///< the order of the column, like a factor of R
  ordered  ///< likewise, and they are steps of a scale, like those of R's ordered factor: polynomial
           ///< contrasts
};

/// A column of levels: `codes[i]` is the index in `levels` of the level of row i, or negative for a missing
/// value.
struct Factor {
  std::vector<std::int32_t> codes;
  std::vector<std::string> levels;  ///< the same on every rank; UTF-8
  LevelOrder order = LevelOrder::sorted;
};

/// Numbers in place, in one span or several consecutive ones, of any lengths, neither joined nor copied. NaN
/// for a missing value.
struct NumberSpans {
  std::vector<std::span<const double>> pieces;
};

/// Whole numbers in place, likewise; the least of int32 for a missing value, as R's NA_integer_.
struct IntegerSpans {
  std::vector<std::span<const std::int32_t>> pieces;
};

/// The codes of a `Factor` in place, likewise.
struct FactorSpans {
  std::vector<std::span<const std::int32_t>> codes;
  std::vector<std::string> levels;
  LevelOrder order = LevelOrder::sorted;
};

/// A table in memory. Each rank has its own rows, `job.local_range(plan)` of them, of every column:
///
///     const tessera::Plan plan = job.plan(rows, 8192);
///     gam::Table table{plan, {{"y", y}, {"site", gam::Factor{codes, {"bay", "cape"}}}}};
///     gam::Table same{plan, {{"y", gam::NumberSpans{{y}}},            // y and codes are not copied
///                            {"site", gam::FactorSpans{{codes}, {"bay", "cape"}}}}};
///
/// Units of the plan are the rows of the table. Its block is the unit of reproducibility: a model has the
/// same bits for any number of ranks and threads, whatever the storage of columns, but other bits for another
/// block. A single rank has all rows, and uses only the plan's number of rows and block. A call reads numbers
/// in place: they must not change before it returns. Errors of a table are found by the call that uses it,
/// which throws the same `Error` on every rank: `usage` for a column whose length differs from the rank's
/// rows, two columns of one name, a code without a level, duplicate levels, columns or levels that differ
/// between ranks, and a plan over other ranks; `input` for a table without a row, and for data that would be
/// refused in a file.
struct Table {
  struct Column {
    std::string name;
    /// Numbers, NaN for missing values; or levels. Spans must outlive the table's use.
    std::variant<std::vector<double>, Factor, NumberSpans, FactorSpans, IntegerSpans> values;
  };

  Plan plan;
  std::vector<Column> columns;
  std::shared_ptr<const void> owner{};  ///< owner of the spans' data; null: the caller owns it
};

/// A table in a file at a path that leads every rank to the same content: CSV, also compressed by gzip, or
/// HDF5 with a dataset for each column. It is read by the call that uses it: each rank reads its own rows.
struct TableFile {
  std::string path;
  TableOptions options{};
};

/// *Collective.* Reads the columns of a formula, and those named by `TableFile::options`, into memory: for
/// several fits of the same rows. Types, levels and missing values are as in a fit of the file. Throws the
/// same `Error(input)` on every rank, with file and line, for a file that cannot be read or is not such a
/// table, a column that does not exist, a text among numbers, or rows that exceed a node's memory;
/// `Error(interrupted)` if the job is asked to stop. Call it on the thread that calls MPI. Cost: the file is
/// scanned once by all ranks together to count its rows, and then each reads its own.
[[nodiscard]] TESSERA_EXPORT Table read_table(Job& job, const TableFile& file, const Formula& formula);

}  // namespace TESSERA_NAMESPACE::gam

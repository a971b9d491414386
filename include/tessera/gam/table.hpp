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

/// Where the rows of a model come from: a file that all ranks can open, or columns in memory.
namespace TESSERA_NAMESPACE::gam {

/// The order in which a model has the levels of a factor; the first is the one that others are compared with.
enum class LevelOrder {
  sorted,  ///< as levels of a file: by value if all are numbers, otherwise by their bytes
  given,   ///< as the column has them, like a factor of R
  ordered  ///< likewise, and they are steps of a scale, like those of R's ordered factor: polynomial
           ///< contrasts
};

/// A column of levels: `codes[i]` is the place in `levels` of the level of row i, or negative where it is
/// missing.
struct Factor {
  std::vector<std::int32_t> codes;
  std::vector<std::string> levels;  ///< the same on every rank; UTF-8
  LevelOrder order = LevelOrder::sorted;
};

/// Numbers where they lie, in one span or several that follow one another, of any lengths: they are read in
/// place, and neither joined nor copied. NaN where one is missing.
struct NumberSpans {
  std::vector<std::span<const double>> pieces;
};

/// The codes of a `Factor` where they lie, in the same way.
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
/// same bits for any number of ranks and threads, and other bits for another block; nor does it depend on how
/// columns are held. One rank has all rows, and the plan serves for its number of rows and its block alone. A
/// call reads numbers where they are: they must not change before it returns. What is wrong with a table is
/// found by the call that uses it, which throws the same `Error` on every rank: `usage` for a column of
/// another length than the rank's rows, two columns of one name, a code without a level, a level that is
/// there twice, columns or levels that differ from rank to rank, and a plan over other ranks; `input` for a
/// table without a row, and for what is refused in a file too.
struct Table {
  struct Column {
    std::string name;
    /// Numbers, NaN where one is missing; or levels. Spans must outlive the table's use.
    std::variant<std::vector<double>, Factor, NumberSpans, FactorSpans> values;
  };

  Plan plan;
  std::vector<Column> columns;
  std::shared_ptr<const void> owner{};  ///< of what the spans refer to; null: the caller keeps it
};

/// A table in a file at a path that leads every rank to the same content: CSV, also compressed by gzip, or
/// HDF5 with a dataset for each column. It is read by the call that uses it: each rank reads its own rows.
struct TableFile {
  std::string path;
  TableOptions options{};
};

/// *Collective.* Reads the columns of a formula, and those that `TableFile::options` names, into memory: for
/// several fits of the same rows. Types, levels and missing values are those that a fit of the file finds.
/// Throws the same `Error(input)` on every rank, with file and line, for a file that cannot be read or is no
/// such table, a column that is not there, a text among numbers, or rows for which a node has not the memory;
/// `Error(interrupted)` when the job is asked to stop. Call it on the thread that calls MPI. Cost: the file
/// is scanned once by all ranks together to count its rows, and then each reads its own.
[[nodiscard]] TESSERA_EXPORT Table read_table(Job& job, const TableFile& file, const Formula& formula);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "byte_source.hpp"
#include "formula.hpp"

#include <tessera/mpi/communicator.hpp>
#include <tessera/partition/plan.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/input_file.hpp"

namespace tessera::fit {

/// One variable of the model over this rank's rows: numbers, or codes of a factor's levels.
struct Variable {
  static constexpr std::int32_t missing = -1;  ///< the code of a missing value
  static constexpr std::int32_t unseen = -2;   ///< predicting: the code of a level that the model lacks
  std::string name;                            ///< the expression's text
  bool factor = false;
  std::vector<double> numbers;      ///< one a row if numeric
  std::vector<std::int32_t> codes;  ///< one a row if a factor; negative where there is no level
  std::vector<std::string> levels;  ///< the job's levels in byte order, the same on every rank
};

/// How a column of the file was read, over the whole job.
struct ColumnReading {
  std::string name;
  bool factor = false;
  std::int64_t missing = 0;
  std::int64_t blank = 0;   ///< fields of a factor that are a level of nothing but blanks, or of nothing
  std::int64_t levels = 0;  ///< of a factor
  std::string first{};      ///< of these
  std::int64_t unseen = 0;  ///< predicting: rows whose level the model lacks
  std::vector<std::string> unseen_levels{};  ///< the first few of these, in byte order
  bool more_unseen = false;                  ///< there are others
};

/// "x: numbers, 3 missing", "f: factor of 5 levels, the first 'a'": for the log.
[[nodiscard]] std::string to_string(const ColumnReading& column);

/// The model's variables over this rank's rows of the file.
///
/// Units of the job are the data rows of the file, those with a missing value too, so that a row's
/// block does not depend on who reads it. Such rows are marked in `complete` and left out of every sum.
struct Frame {
  std::int64_t file_rows = 0;  ///< data rows of the whole file
  tessera::Range rows;         ///< this rank's
  std::vector<Variable> variables;
  std::vector<std::uint8_t> complete;  ///< one a row: no used variable is missing
  std::int64_t complete_rows = 0;      ///< of the whole job: the n of the model
  std::vector<ColumnReading> columns;  ///< that the variables use, the same on every rank

  /// The place of a variable by its name. Throws `Error(input)` if there is none.
  [[nodiscard]] int index_of(std::string_view name) const;
  [[nodiscard]] const Variable& at(std::string_view name) const {
    return variables[static_cast<std::size_t>(index_of(name))];
  }
};

/// Columns that a table may have. Each takes memory on every rank, whether it is used or not.
inline constexpr std::size_t most_columns = 1'000'000;

/// How the fields of a file are read, where its user has something to say about that.
struct TableOptions {
  std::vector<std::string> missing{"NA"};  ///< fields that stand for a missing value
  std::vector<std::string> factors{};      ///< columns whose fields are levels, numbers too
  std::vector<std::string> numbers{};      ///< columns that must be numbers, those in quotes too
};

/// What is wanted of a file. Variables of the same text are one variable of the frame.
struct FrameRequest {
  std::vector<Expression> variables;
  /// Variables, by their texts, that must be numbers: a text there ends the read with an Error that names
  /// the line, where any other column that stands alone may be a factor.
  std::vector<std::string> numeric;
  /// Predicting: a variable named here is a factor with these levels. A row with another one has the code
  /// `Variable::unseen`, and is not complete but where `unseen_is_complete` names the variable.
  std::vector<std::pair<std::string, std::vector<std::string>>> known_levels;
  std::vector<std::string> unseen_is_complete;
  TableOptions options;
};

/// A table that every rank can open: CSV (also gzip-compressed) or HDF5 with one dataset a column.
///
///     auto table = open_table(comm, "data.csv");            // collective: counts the rows
///     auto plan = job.plan(table->rows(), block_rows);
///     Frame frame = table->read(comm, request, job.local_range(plan));
class TableReader {
 public:
  virtual ~TableReader() = default;
  /// Data rows of the file, the same on every rank.
  [[nodiscard]] virtual std::int64_t rows() const = 0;
  [[nodiscard]] virtual std::vector<std::string> columns() const = 0;
  /// *Collective.* Reads this rank's rows. Throws the same `Error(input)` on every rank: unknown column,
  /// malformed line (with its number), text in an expression that needs numbers, rows for which the ranks
  /// of a node have not the memory, a table that was written to since it was opened.
  [[nodiscard]] virtual Frame read(const tessera::mpi::Communicator& comm, const FrameRequest& request,
                                   tessera::Range rows) = 0;
  /// The file as this rank has opened it.
  [[nodiscard]] virtual apps::FileState opened() const = 0;
  /// Bytes that this rank has read from the file so far.
  [[nodiscard]] virtual std::int64_t bytes_read() const = 0;
};

/// *Collective.* Throws the same `Error(input)` on every rank: a missing or empty file, one that is neither,
/// or another on one rank than on another (see shared_input.hpp).
/// `between` is called while the file is opened and while it is read, on the calling thread; an `Error` that
/// it throws on one rank is thrown on every rank.
[[nodiscard]] std::unique_ptr<TableReader> open_table(const tessera::mpi::Communicator& comm,
                                                      const std::string& path,
                                                      const BetweenReads& between = {});

/// *Collective.* Runs `work` and agrees on its outcome: if it threw `tessera::Error` on some rank, every
/// rank throws the error of the lowest such rank. Nothing may leave a collective phase any other way.
void together(const tessera::mpi::Communicator& comm, const std::function<void()>& work);

/// The distinct values of a numeric variable over the complete rows of the job.
struct Distinct {
  std::int64_t count = 0;  ///< at most as many as were asked for
  double min = 0;
  double max = 0;
};
/// *Collective.* Counts them until there are `enough`. Cost: one look at the column, and no sort of it.
[[nodiscard]] Distinct distinct_values(const tessera::mpi::Communicator& comm, const Frame& frame,
                                       int variable, std::int64_t enough);
/// *Collective.* R's type-7 quantiles of the sorted distinct values (with `extra` among them) at equally
/// spaced probabilities seq(0, 1, length = count). The same bits for any number of ranks.
[[nodiscard]] std::vector<double> distinct_quantiles(const tessera::mpi::Communicator& comm,
                                                     const Frame& frame, int variable, int count,
                                                     std::span<const double> extra);

}  // namespace tessera::fit

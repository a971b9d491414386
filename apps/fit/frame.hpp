// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "byte_source.hpp"
#include "formula.hpp"

#include <tessera/mpi/communicator.hpp>
#include <tessera/partition/plan.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera::fit {

/// One variable of the model over this rank's rows: numbers, or codes of a factor's levels.
struct Variable {
  std::string name;  ///< the expression's text
  bool factor = false;
  std::vector<double> numbers;      ///< one a row if numeric
  std::vector<std::int32_t> codes;  ///< one a row if a factor; -1 where missing
  std::vector<std::string> levels;  ///< the job's levels in byte order, the same on every rank
};

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

  /// The place of a variable by its name. Throws `Error(input)` if there is none.
  [[nodiscard]] int index_of(std::string_view name) const;
  [[nodiscard]] const Variable& at(std::string_view name) const {
    return variables[static_cast<std::size_t>(index_of(name))];
  }
};

/// What is wanted of a file. Variables of the same text are one variable of the frame.
struct FrameRequest {
  std::vector<Expression> variables;
  /// Variables, by their texts, that must be numbers: a text there ends the read with an Error that names
  /// the line, where any other column that stands alone would become a factor.
  std::vector<std::string> numeric;
  /// Predicting: a variable named here is a factor with these levels, and a text that is none of them
  /// ends the read with an Error that names the line.
  std::vector<std::pair<std::string, std::vector<std::string>>> known_levels;
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
  /// of a node have not the memory.
  [[nodiscard]] virtual Frame read(const tessera::mpi::Communicator& comm, const FrameRequest& request,
                                   tessera::Range rows) = 0;
  /// Bytes that this rank has read from the file so far.
  [[nodiscard]] virtual std::int64_t bytes_read() const = 0;
};

/// *Collective.* Throws the same `Error(input)` on every rank: a missing or empty file, one that is neither.
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

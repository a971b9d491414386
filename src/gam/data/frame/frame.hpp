// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/bounded_values.hpp"
#include "gam/data/frame/column_numbers.hpp"
#include "gam/data/frame/number_scan.hpp"
#include "gam/data/frame/number_taker.hpp"
#include "gam/data/frame/row_memory.hpp"
#include "gam/formula/compile.hpp"
#include "gam/formula/formula.hpp"

#include <tessera/gam/table_options.hpp>
#include <tessera/partition/plan.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// A variable of the model over this rank's rows: numbers, or codes of a factor's levels.
struct Variable {
  static constexpr std::int32_t missing = -1;
  static constexpr std::int32_t unseen = -2;  ///< in predictions: the code of a level that the model lacks
  std::string name;                           ///< the expression's text
  bool factor = false;
  ColumnNumbers numbers;              ///< empty for a factor
  ColumnStorage<std::int32_t> codes;  ///< of a factor; negative: no level
  std::vector<std::string> levels;  ///< the job's levels, sorted (factor_levels.hpp), the same on every rank
  bool ordered = false;             ///< R's ordered factor, with levels in the given order

  /// Prefetches rows from a scratch file: see `files::ScratchMemory`.
  void prepare_to_read(std::size_t begin, std::size_t end) const noexcept {
    numbers.prepare_to_read(begin, end);
    codes.prepare_to_read(begin, end);
  }
};

/// How a column of the file was read over the whole job.
struct ColumnReading {
  std::string name;        ///< the column's name for messages
  std::string variable{};  ///< the text of the variable that reads the column
  bool factor = false;
  std::int64_t missing = 0;
  std::int64_t blank = 0;       ///< empty or blank fields, which are levels of a factor
  std::int64_t inexact = 0;     ///< numbers that lost digits in the conversion to double
  std::string unit{};           ///< unit of the numbers, e.g. "days since 1970-01-01"; or empty
  bool without_quotes = false;  ///< quotes around numbers were ignored
  std::int64_t levels = 0;
  std::string first{};
  std::int64_t unseen = 0;                   ///< in predictions: rows with a level that the model lacks
  std::vector<std::string> unseen_levels{};  ///< the first unseen levels, in byte order
  bool more_unseen = false;                  ///< there are more than `unseen_levels`
};

/// For the log: "x: numbers, 3 missing", "f: factor of 5 levels, the first 'a'".
[[nodiscard]] std::string to_string(const ColumnReading& column);

/// Size of the columns that are in scratch files because memory is short, over all ranks.
struct SpilledColumns {
  std::int64_t bytes = 0;
  std::int64_t all_bytes = 0;  ///< size of all columns, including those in memory
  std::string folder;          ///< the scratch folder of rank 0
  std::string limit;           ///< what limits the memory, e.g. the path of a file with a limit
};

/// A description for the log: "columns: 3 of 4 GiB are in scratch files in /var/tmp, …".
[[nodiscard]] std::string to_string(const SpilledColumns& spilled);

/// Data stored by a fit to compute the same variables from another table.
struct Recipe {
  struct Column {
    std::string name;
    ValueType type;
  };
  std::vector<Column> columns;  ///< columns that computed variables read
  /// Values of `Statistic`s by the texts of their calls.
  std::vector<std::pair<std::string, std::vector<double>>> measured;
  std::vector<Expression> contrasts{};  ///< variables of the design that are not in the formula, e.g. dose.L

  [[nodiscard]] bool empty() const noexcept { return columns.empty(); }
};

/// The model's variables over this rank's rows of the file.
///
/// The units of the job are all data rows of the file, including rows with missing values, so that a row's
/// block does not depend on the rank that reads it. Incomplete rows are marked in `complete` and excluded
/// from all sums.
struct Frame {
  std::int64_t file_rows = 0;  ///< data rows of the whole file
  tessera::Range rows;
  std::vector<Variable> variables;
  ColumnStorage<std::uint8_t> complete;       ///< one flag per row: 1 if no used variable is missing
  std::int64_t complete_rows = 0;             ///< complete rows of the job, mgcv's n
  std::optional<std::int64_t> chosen_rows{};  ///< rows of the job in the request's subset, if it has one
  std::vector<ColumnReading> columns;         ///< columns used by the variables, the same on every rank
  /// Extent of each variable over this rank's complete rows; empty for factors. No elements if the reading of
  /// the table did not compute them, e.g. for a frame with computed variables.
  std::vector<Extent> extents;
  /// Values of each variable near its median, found while reading complete rows; empty if not requested.
  std::vector<std::vector<BoundedValues>> near_medians;
  RowMemory memory;
  SpilledColumns spilled;  ///< the same on every rank
  Recipe recipe;           ///< the same on every rank

  /// Removes written local rows of all columns from resident memory: see `files::ScratchMemory`.
  void release_written(std::size_t begin, std::size_t end) const;

  /// Throws `Error(input)` if there is no such variable.
  [[nodiscard]] int index_of(std::string_view name) const;
  [[nodiscard]] const Variable& at(std::string_view name) const {
    return variables[static_cast<std::size_t>(index_of(name))];
  }
};

/// The numbers of missing values in the job, for messages: " (missing: 500 of z, 312 of x)"; empty if there
/// are none.
[[nodiscard]] std::string missing_by_column(const Frame& frame);

/// Maximum number of columns of a table. Each column takes memory on every rank, even if unused.
inline constexpr std::size_t max_columns = 1'000'000;

/// A request to read variables from a table. Variables with the same text become one variable of the frame.
struct FrameRequest {
  std::vector<Expression> variables;
  /// Variables, by their texts, that must be numeric: a field that is no number is an Error that names its
  /// line. Any other variable that is a plain column may become a factor.
  std::vector<std::string> numeric;
  /// In predictions: factors with their known levels. Any other level gets the code `Variable::unseen`, and
  /// its row is complete only if `unseen_is_complete` names the variable.
  std::vector<std::pair<std::string, std::vector<std::string>>> known_levels;
  std::vector<std::string> unseen_is_complete;
  /// Variables that may be infinite.
  std::vector<std::string> unbounded{};
  /// Factors whose levels are the fields' texts, even if all are numbers.
  std::vector<std::string> texts{};
  /// In predictions: units of the fit's date columns by name. Texts in these columns are read as dates.
  std::vector<std::pair<std::string, std::string>> units{};
  /// In predictions: a row is incomplete if one of these variables is infinite. Infinity in any other
  /// variable is an Error.
  std::vector<std::string> left_out_if_infinite{};
  TableOptions options;
  /// Where columns may be stored; nothing: only in memory, and reading is refused if they do not fit.
  std::optional<MemoryOptions> memory;
  /// Whether all rows count as complete and values may be infinite, as for columns read without a model.
  bool every_row = false;
  bool as_vectors = false;  ///< the caller takes each column as a std::vector, by `own`
  /// Bytes that a rank needs per row in addition to the columns.
  std::int64_t more_bytes_per_row = 0;

  NumberTaker* taker = nullptr;  ///< receives numbers in memory; null: none

  /// Variables whose medians will be computed.
  std::vector<std::string> medians{};

  // Members for `read_variables` only:
  std::optional<Expression> subset{};  ///< rows for which the condition is not TRUE count as incomplete
  bool keeps_unused_levels = false;    ///< keep levels without a complete row
  /// A column that is a factor with these levels; other values are missing. Empty `levels`: all, sorted.
  struct GivenLevels {
    std::string column;
    std::vector<std::string> levels;
    bool ordered = false;
  };
  std::vector<GivenLevels> given_levels{};
  const Recipe* recipe = nullptr;  ///< in predictions: the fit's recipe
  /// Columns that expressions read. They follow `variables` in the frame, and make no row incomplete.
  std::vector<Expression> columns{};
};

}  // namespace TESSERA_NAMESPACE::gam

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

/// One variable of the model over this rank's rows: numbers, or codes of a factor's levels.
struct Variable {
  static constexpr std::int32_t missing = -1;  ///< the code of a missing value
  static constexpr std::int32_t unseen = -2;   ///< predicting: the code of a level that the model lacks
  std::string name;                            ///< the expression's text
  bool factor = false;
  ColumnNumbers numbers;              ///< one a row if numeric
  ColumnStorage<std::int32_t> codes;  ///< one a row if a factor; negative: no level
  std::vector<std::string> levels;    ///< the job's levels, sorted (levels.hpp), the same on every rank
  bool ordered = false;               ///< R's ordered factor: levels are in their given order

  /// See `files::ScratchMemory`; rows.
  void prepare_to_read(std::size_t begin, std::size_t end) const noexcept {
    numbers.prepare_to_read(begin, end);
    codes.prepare_to_read(begin, end);
  }
};

/// How a column of the file was read, over the whole job.
struct ColumnReading {
  std::string name;        ///< in messages
  std::string variable{};  ///< the text of the variable that reads it
  bool factor = false;
  std::int64_t missing = 0;
  std::int64_t blank = 0;                    ///< empty or blank fields of a factor, which are levels
  std::int64_t inexact = 0;                  ///< numbers that lost digits, as a double has 15
  std::string unit{};                        ///< of its numbers, e.g. "days since 1970-01-01"; empty: unknown
  bool without_quotes = false;               ///< quotes around its numbers are ignored
  std::int64_t levels = 0;                   ///< number of levels of a factor
  std::string first{};                       ///< the first level
  std::int64_t unseen = 0;                   ///< predicting: rows whose level the model lacks
  std::vector<std::string> unseen_levels{};  ///< the first few of these levels, in byte order
  bool more_unseen = false;                  ///< there are more unseen levels
};

/// "x: numbers, 3 missing", "f: factor of 5 levels, the first 'a'": for the log.
[[nodiscard]] std::string to_string(const ColumnReading& column);

/// Amount of columns in scratch files for lack of memory, over all ranks.
struct SpilledColumns {
  std::int64_t bytes = 0;
  std::int64_t all_bytes = 0;  ///< including those in memory
  std::string folder;          ///< the scratch folder of rank 0
  std::string limit;           ///< what limits memory, e.g. a file that sets a limit
};

/// "columns: 3 of 4 GiB are in scratch files in /var/tmp, …": for the log.
[[nodiscard]] std::string to_string(const SpilledColumns& spilled);

/// Information on a fit's table for computing the same variables from another table.
struct Recipe {
  struct Column {
    std::string name;
    ValueType type;
  };
  std::vector<Column> columns;  ///< that computed variables read
  std::vector<std::pair<std::string, std::vector<double>>>
      measured;                         ///< values of `Statistic`s, by their calls
  std::vector<Expression> contrasts{};  ///< variables of the design that are not in the formula, e.g. dose.L

  [[nodiscard]] bool empty() const noexcept { return columns.empty(); }
};

/// The model's variables over this rank's rows of the file.
///
/// Units of the job are the data rows of the file, including those with a missing value, so that a row's
/// block does not depend on the reading rank. Incomplete rows are marked in `complete` and excluded from
/// every sum.
struct Frame {
  std::int64_t file_rows = 0;  ///< data rows of the whole file
  tessera::Range rows;         ///< this rank's
  std::vector<Variable> variables;
  ColumnStorage<std::uint8_t> complete;       ///< one a row: no used variable is missing
  std::int64_t complete_rows = 0;             ///< complete rows of the job: the n of the model
  std::optional<std::int64_t> chosen_rows{};  ///< rows of the job in the request's subset
  std::vector<ColumnReading> columns;         ///< columns used by the variables, the same on every rank
  /// By variable, over this rank's complete rows; empty for factors. No elements in a frame that was not
  /// read.
  std::vector<Extent> extents;
  /// By variable: values near the median found while reading complete rows; empty if not requested.
  std::vector<std::vector<BoundedValues>> near_medians;
  RowMemory memory;        ///< memory that holds the columns
  SpilledColumns spilled;  ///< the same on every rank
  Recipe recipe;           ///< recipe of computed variables, the same on every rank

  /// See `files::ScratchMemory`; local rows of all columns.
  void release_written(std::size_t begin, std::size_t end) const;

  /// The index of a variable, by its name. Throws `Error(input)` if there is none.
  [[nodiscard]] int index_of(std::string_view name) const;
  [[nodiscard]] const Variable& at(std::string_view name) const {
    return variables[static_cast<std::size_t>(index_of(name))];
  }
};

/// Maximum number of columns of a table. Each takes memory on every rank, used or not.
inline constexpr std::size_t max_columns = 1'000'000;

/// What to read from a file. Variables with the same text are one variable of the frame.
struct FrameRequest {
  std::vector<Expression> variables;
  /// Texts of variables that must be numeric: text in such a column is an Error with its line, while any
  /// other column that is itself a variable may become a factor.
  std::vector<std::string> numeric;
  /// Predicting: a variable named here is a factor with these levels. Any other level gets the code
  /// `Variable::unseen`, and its row is complete only if `unseen_is_complete` names the variable.
  std::vector<std::pair<std::string, std::vector<std::string>>> known_levels;
  std::vector<std::string> unseen_is_complete;
  /// Texts of variables whose values may be infinite.
  std::vector<std::string> unbounded{};
  /// A variable named here is a factor whose levels are the literal texts, including numbers.
  std::vector<std::string> texts{};
  /// Predicting: what the fit's columns of dates count, by their names. Texts in them are dates too.
  std::vector<std::pair<std::string, std::string>> units{};
  /// Predicting: a row in which a variable named here is infinite is incomplete; otherwise that is an Error.
  std::vector<std::string> left_out_if_infinite{};
  TableOptions options;
  /// Where columns may be stored; nothing: only in memory, or the read is refused.
  std::optional<MemoryOptions> memory;
  /// Read columns without a model: every row is complete, and values may be infinite.
  bool every_row = false;
  /// Bytes that a rank needs per row in addition to the columns.
  std::int64_t more_bytes_per_row = 0;

  NumberTaker* taker = nullptr;  ///< receiver of numbers in memory; null: none

  /// Texts of variables whose medians will be requested.
  std::vector<std::string> medians{};

  // Only for `read_variables`:
  std::optional<Expression> subset{};  ///< rows for which this is not TRUE are not complete
  bool keeps_unused_levels = false;    ///< levels without a complete row are kept
  /// A column that is a factor with these levels, other values being missing; empty: all levels, in their
  /// usual order.
  struct GivenLevels {
    std::string column;
    std::vector<std::string> levels;
    bool ordered = false;  ///< R's ordered factor
  };
  std::vector<GivenLevels> given_levels{};
  const Recipe* recipe = nullptr;  ///< predicting: the fit's recipe
  /// Columns that expressions read: variables that follow the others, and make no row incomplete.
  std::vector<Expression> columns{};
};

}  // namespace TESSERA_NAMESPACE::gam

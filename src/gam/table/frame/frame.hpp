// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/formula/compile.hpp"
#include "gam/formula/formula.hpp"
#include "gam/table/frame/bounded_values.hpp"
#include "gam/table/frame/column_numbers.hpp"
#include "gam/table/frame/column_storage.hpp"
#include "gam/table/frame/extent.hpp"
#include "gam/table/frame/number_taker.hpp"
#include "gam/table/frame/row_memory.hpp"

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
  ColumnStorage<std::int32_t> codes;  ///< one a row if a factor; negative where there is no level
  std::vector<std::string> levels;    ///< those of the job, sorted (levels.hpp), the same on every rank
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
  std::int64_t blank = 0;                    ///< fields of a factor that are empty or blank, which are levels
  bool without_quotes = false;               ///< numbers in quotes that say nothing
  std::int64_t levels = 0;                   ///< of a factor
  std::string first{};                       ///< of these
  std::int64_t unseen = 0;                   ///< predicting: rows whose level the model lacks
  std::vector<std::string> unseen_levels{};  ///< the first few of these, in byte order
  bool more_unseen = false;                  ///< there are more
};

/// "x: numbers, 3 missing", "f: factor of 5 levels, the first 'a'": for the log.
[[nodiscard]] std::string to_string(const ColumnReading& column);

/// Columns in scratch files, for lack of memory, over all ranks.
struct SpilledColumns {
  std::int64_t bytes = 0;
  std::int64_t all_bytes = 0;  ///< with those in memory
  std::string folder;          ///< of rank 0
  std::string limit;           ///< what limits memory, e.g. a file that sets a limit
};

/// "columns: 3 of 4 GiB are in scratch files in /var/tmp, …": for the log.
[[nodiscard]] std::string to_string(const SpilledColumns& spilled);

/// What computed variables take of a fit's table, for any other table to be read by.
struct Recipe {
  struct Column {
    std::string name;
    ValueType type;
  };
  std::vector<Column> columns;  ///< that computed variables read
  std::vector<std::pair<std::string, std::vector<double>>>
      measured;                         ///< what `Statistic`s gave, by their calls
  std::vector<Expression> contrasts{};  ///< variables of the design that the formula has not, as dose.L

  [[nodiscard]] bool empty() const noexcept { return columns.empty(); }
};

/// The model's variables over this rank's rows of the file.
///
/// Units of the job are the data rows of the file, those with a missing value too, so that a row's
/// block does not depend on who reads it. Such rows are marked in `complete` and left out of every sum.
struct Frame {
  std::int64_t file_rows = 0;  ///< data rows of the whole file
  tessera::Range rows;         ///< this rank's
  std::vector<Variable> variables;
  ColumnStorage<std::uint8_t> complete;       ///< one a row: no used variable is missing
  std::int64_t complete_rows = 0;             ///< of the whole job: the n of the model
  std::optional<std::int64_t> chosen_rows{};  ///< of the whole job: those in the request's subset
  std::vector<ColumnReading> columns;         ///< that the variables use, the same on every rank
  /// Of each variable over this rank's complete rows, those of factors being empty; or none, in a frame that
  /// was not read.
  std::vector<Extent> extents;
  /// Of each variable, what threads have found near its median while they read complete rows; nothing where
  /// that was not sought.
  std::vector<std::vector<BoundedValues>> near_medians;
  RowMemory memory;        ///< that the columns are in
  SpilledColumns spilled;  ///< the same on every rank
  Recipe recipe;           ///< of computed variables, the same on every rank

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

/// What to read from a file. Variables of the same text are one variable of the frame.
struct FrameRequest {
  std::vector<Expression> variables;
  /// Variables, by their texts, that must be numbers: text in such a column is an Error with its line, while
  /// any other column that is a variable by itself may become a factor.
  std::vector<std::string> numeric;
  /// Predicting: a variable named here is a factor with these levels. Any other level gets the code
  /// `Variable::unseen`, and its row is complete only if `unseen_is_complete` names the variable.
  std::vector<std::pair<std::string, std::vector<std::string>>> known_levels;
  std::vector<std::string> unseen_is_complete;
  /// Variables, by their texts, whose values may be infinite.
  std::vector<std::string> unbounded{};
  /// A variable named here is a factor whose levels are the texts as they stand, numbers too.
  std::vector<std::string> texts{};
  /// Predicting: a row in which a variable named here is infinite is not complete; else that is an Error.
  std::vector<std::string> left_out_if_infinite{};
  TableOptions options;
  /// Where columns may be stored; nothing: in memory only, or the read is refused.
  std::optional<MemoryOptions> memory;
  /// Columns are wanted, and no model of them: every row is complete, and its values may be infinite.
  bool every_row = false;
  /// Beside the columns a rank takes so much memory for each row.
  std::int64_t more_bytes_per_row = 0;

  NumberTaker* taker = nullptr;  ///< of numbers in memory; null: there is none

  /// Variables, by their texts, whose medians will be wanted.
  std::vector<std::string> medians{};

  // Of `read_variables` alone:
  std::optional<Expression> subset{};  ///< rows for which this is not TRUE are not complete
  bool keeps_unused_levels = false;    ///< levels that no complete row has stay
  /// A column that is a factor with these levels, others being missing; without any: in their usual order.
  struct GivenLevels {
    std::string column;
    std::vector<std::string> levels;
    bool ordered = false;  ///< R's ordered factor
  };
  std::vector<GivenLevels> given_levels{};
  const Recipe* recipe = nullptr;  ///< predicting: of the fit
  /// Columns that expressions read: variables too, behind the others, which make no row incomplete.
  std::vector<Expression> columns{};
};

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/table/frame.hpp"

#include <tessera/mpi/communicator.hpp>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

/// From rows of fields to a Frame: what every file format shares. A reader hands over the fields of the
/// columns that are wanted; types, levels, expressions and missing values are decided here.
///
/// The rule is that of R's read.csv(stringsAsFactors = TRUE), with two exceptions. Quotes tell a factor: a
/// column is one if at least half of its fields are in quotes or are no numbers, those that are missing or
/// blank aside. And where most fields are numbers without quotes, one that is no number is an error, for R
/// would make a factor of the whole column because of it.
///
/// | field                                | in a column of numbers | in a factor     |
/// | ------------------------------------ | ---------------------- | --------------- |
/// | `NA`, in quotes or not               | missing                | missing         |
/// | nothing or blanks, in quotes or not  | missing                | the level as is |
/// | blanks around something              | count for nothing      | part of it      |
/// | a number in quotes                   | that number            | the level as is |
///
/// A factor whose texts are all of T, TRUE, F and FALSE has the levels FALSE and TRUE, as R has it.
namespace tessera::gam {

/// A column of the file that some variable reads.
struct UsedColumn {
  std::string name;
  int position = 0;         ///< among the columns of the file
  bool text = false;        ///< a factor: its fields are levels
  bool typed = false;       ///< what it is follows from the request, not from its fields
  std::string numbers_for;  ///< the variable that needs it as numbers; empty if none does
  const std::vector<std::string>* known_levels = nullptr;  ///< the only levels that are not unseen
};

/// What the fields of a column are.
struct FieldCounts {
  std::int64_t numbers = 0;  ///< without quotes
  std::int64_t texts = 0;    ///< others that are neither missing nor blank
  std::int64_t missing = 0;
  std::int64_t blank = 0;

  [[nodiscard]] bool factor() const noexcept { return texts > 0 && texts >= numbers; }
};

/// The variables of a request in terms of the columns of a file. It refers to the request, which must
/// stay.
class ReadPlan {
 public:
  /// Throws `Error(input)` for a column that the file does not have, with the names nearest to it, and
  /// `Error(usage)` for an option about a column that is not used, or not so.
  /// `table_word` is what messages call the table.
  ReadPlan(const FrameRequest& request, std::span<const std::string> file_columns, std::string path,
           std::string_view table_word = "the file");

  struct PlannedVariable {
    const Expression* expression = nullptr;
    std::vector<int> columns;  ///< places in `columns()`, as Expression::columns() has them
  };

  [[nodiscard]] const std::vector<UsedColumn>& columns() const noexcept { return columns_; }
  [[nodiscard]] const std::vector<PlannedVariable>& variables() const noexcept { return variables_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// A column of text by itself; all else is numbers.
  [[nodiscard]] bool is_factor(const PlannedVariable& variable) const;
  void set_text(std::size_t column, bool text) { columns_[column].text = text; }
  /// Whatever its fields are.
  void set_factor(std::size_t column) { columns_[column].text = columns_[column].typed = true; }
  /// True for a field that stands for a missing value.
  [[nodiscard]] bool is_missing(std::string_view field) const;
  /// True if some number does: what reads as one has to be looked at as a text first.
  [[nodiscard]] bool numbers_may_be_missing() const noexcept { return numbers_may_be_missing_; }
  /// A row with an unseen level of this variable is complete.
  [[nodiscard]] bool unseen_is_complete(const PlannedVariable& variable) const;

 private:
  void apply(const TableOptions& options);
  std::vector<UsedColumn> columns_;
  std::vector<PlannedVariable> variables_;
  std::vector<std::string> missing_;
  std::vector<std::string> unseen_is_complete_;
  bool numbers_may_be_missing_ = false;
  std::string path_;
};

/// Takes the fields of this rank's rows, row after row.
///
///     builder.set_number(0, 2.5);        // or set_missing, set_field: one for each column of the plan
///     builder.end_row(17);               // the line of the file, for messages
class FrameBuilder {
 public:
  /// `row_word` is what messages call a row's number: "line" or "row".
  FrameBuilder(const ReadPlan& plan, tessera::Range rows, std::string_view row_word);

  [[nodiscard]] const ReadPlan& plan() const noexcept { return plan_; }

  /// A number without quotes, where the plan has numbers.
  void set_number(std::size_t column, double value) noexcept {
    ++counts_[column].numbers;
    numbers_[column] = value;
  }
  void set_missing(std::size_t column) noexcept {
    ++counts_[column].missing;
    set_nothing(column);
  }
  /// A field as it stands in the file. Throws `Error(input)` for one that is no number where the request
  /// needs numbers; other faults depend on what the column turns out to be: see `refuse_faults`.
  void set_field(std::size_t column, std::string_view text, bool quoted, std::int64_t row_number);
  /// Ends a row: evaluates its expressions. Throws `Error(input)` for an infinite value of what must be
  /// numbers; that of a column which texts may yet make a factor, with INF or 12e4567 as a level, is
  /// remembered.
  void end_row(std::int64_t row_number);

  /// What was met so far, a column of the plan each.
  [[nodiscard]] const std::vector<FieldCounts>& counts() const noexcept { return counts_; }
  /// Throws `Error(input)` with the first fault of this rank's rows that was remembered, if there is one: a
  /// text among numbers, too many levels, one that is not UTF-8, an infinite value. To be called once the
  /// plan has the columns as the whole job has met them, whose `counts` these are.
  void refuse_faults(std::span<const FieldCounts> counts) const;
  /// *Collective.* The frame, with the levels of the job.
  [[nodiscard]] Frame finish(const tessera::mpi::Communicator& comm, std::int64_t file_rows);

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };
  struct Dictionary {
    std::unordered_map<std::string, std::int32_t, TextHash, std::equal_to<>> codes;
    std::vector<std::string> texts;  // by code
    bool full = false;               // there were more than a factor may have
    std::string fault;               // what to say of the first that is not UTF-8; empty: none
  };
  /// The first field of a column that is no number.
  struct Stray {
    std::int64_t row_number = 0;
    std::string text;
  };
  /// Texts that are none of the known levels.
  struct Unseen {
    std::int64_t rows = 0;
    std::set<std::string> levels;  // the first few in byte order
  };

  void set_nothing(std::size_t column) noexcept {
    numbers_[column] = std::numeric_limits<double>::quiet_NaN();
    codes_[column] = Variable::missing;
  }

  std::int32_t code_of(std::size_t column, std::string_view text, std::int64_t row_number);
  std::int32_t unseen_code(std::size_t column, std::string_view text, std::int64_t row_number);
  void agree_on_levels(const tessera::mpi::Communicator& comm, Variable& variable, std::size_t column);
  void describe_columns(const tessera::mpi::Communicator& comm);
  void note_stray(std::size_t column, std::string_view text, std::int64_t row_number);
  void refuse_infinity() const;
  [[nodiscard]] std::string not_utf8(std::size_t column, std::int64_t row_number) const;

  const ReadPlan& plan_;
  std::string row_word_;
  Frame frame_;
  std::size_t row_ = 0;
  std::vector<double> numbers_;      // of the row at hand, a column each
  std::vector<std::int32_t> codes_;  // the same
  std::vector<double> arguments_;    // of the expression at hand
  std::vector<Dictionary> dictionaries_;
  std::vector<FieldCounts> counts_;
  std::vector<Stray> strays_;
  std::vector<Unseen> unseen_;
  std::string infinity_;  // what to say of the first one; empty: none
};

/// Hands the fields of some rows of the file to a builder.
using RowScan = std::function<void(tessera::Range rows, FrameBuilder& builder)>;

/// *Collective.* Reads this rank's rows. What the first rows say of a column's type is a guess; where the
/// whole file says otherwise, the rows are read again.
[[nodiscard]] Frame read_frame(const tessera::mpi::Communicator& comm, ReadPlan plan, tessera::Range rows,
                               std::int64_t file_rows, std::string_view row_word, const RowScan& scan);

/// Texts as one text, and back: what `broadcast_text` and `allgather_text` carry.
[[nodiscard]] std::string pack(std::span<const std::string> texts);
[[nodiscard]] std::vector<std::string> unpack(std::string_view packed);

}  // namespace tessera::gam

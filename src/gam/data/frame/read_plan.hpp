// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/frame.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Which fields of a column of numbers are ISO dates.
enum class DateFields : std::uint8_t {
  none,
  texts,  ///< fields that are not numbers
  all
};

/// A column of the file that variables read. x and factor(x) are two such columns.
struct UsedColumn {
  std::string name;
  std::string factor_call;  ///< "factor(x)" if read for its levels; empty: the column itself
  int position = 0;         ///< index in the table
  bool text = false;        ///< the column is a factor
  bool typed = false;       ///< the request, not the fields, determines the type
  /// The request makes the column a factor, although fields may be numbers.
  bool made_factor = false;
  /// A factor of numbers, like R's factor(): 1, 1.0 and 01 are one level, and blanks are missing.
  bool number_levels = false;
  bool quoted_apart = false;  ///< the header quotes this name, but not all names
  std::string unit{};         ///< e.g. "days since 1970-01-01", or empty
  DateFields dates = DateFields::none;
  std::string known_unit{};                                ///< unit in the fit; empty: unknown
  std::string numbers_for;                                 ///< a variable that needs numbers here, or empty
  const std::vector<std::string>* known_levels = nullptr;  ///< any other level is unseen
  const std::vector<std::string>* level_order = nullptr;   ///< order of the levels; null: sorted
  const ColumnNumbers* in_memory =
      nullptr;  ///< this rank's numbers if they outlive the plan; null: not in memory

  /// The column's index among the columns of one of several files; nothing if that file lacks it.
  [[nodiscard]] std::optional<std::size_t> position_among(std::span<const std::string> file_columns) const;
  /// Makes the column a factor whose levels are the fields' texts, in this order unless `order` is null.
  void make_factor(const std::vector<std::string>* order);
  /// "x" or "factor(x)".
  [[nodiscard]] std::string variable() const {
    return factor_call.empty() ? column_expression(name).text : factor_call;
  }
};

/// Texts among the numbers of a column, over the job.
struct StrayTexts {
  std::int64_t count = 0;
  std::string first{};  ///< the beginning of the first text
  std::string place{};
};

/// Maps the variables of a request to the columns of a file. The request must outlive this object.
class ReadPlan {
 public:
  /// Throws `Error(input)` for a column that the file lacks, suggesting similar names, and `Error(usage)` for
  /// an option about a column that is not used, or not in the way the option needs.
  ReadPlan(const FrameRequest& request, std::span<const std::string> file_columns, std::string path);

  struct PlannedVariable {
    const Expression* expression = nullptr;
    std::vector<int> columns;  ///< indices into `columns()`, in the order of Expression::columns()
    bool may_be_infinite = false;
    bool wants_median = false;
    std::optional<KeySpan> near_median{};  ///< range of the search for the median while reading
    bool left_out_if_infinite = false;
    bool unseen_is_complete = false;
  };

  [[nodiscard]] const FrameRequest& request() const noexcept { return *request_; }
  [[nodiscard]] const std::vector<UsedColumn>& columns() const noexcept { return columns_; }
  /// For changes of the type: sources set the types that they declare, `TableReader` those that fields imply.
  [[nodiscard]] UsedColumn& column(std::size_t column) { return columns_[column]; }
  [[nodiscard]] const std::vector<PlannedVariable>& variables() const noexcept { return variables_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// For messages: "data.csv, line 12".
  [[nodiscard]] std::string place(std::int64_t row_number) const;
  /// Sets the text that `place` returns for a row; by default "PATH, row 12".
  void set_places(std::function<std::string(std::int64_t row_number)> places) { places_ = std::move(places); }
  /// For a description of columns only: texts among numbers become missing and are recorded in `strays`, one
  /// element per column; a factor may have any number of levels.
  void set_strays(std::vector<StrayTexts>* strays) { strays_ = strays; }
  [[nodiscard]] std::vector<StrayTexts>* strays() const noexcept { return strays_; }
  void set_near_median(std::size_t variable, KeySpan range) { variables_[variable].near_median = range; }
  /// Whether the variable is a column read as a factor; otherwise the variable is numeric.
  [[nodiscard]] bool is_factor(const PlannedVariable& variable) const;
  /// Null unless the variable is a column in memory.
  [[nodiscard]] const ColumnNumbers* in_memory(const PlannedVariable& variable) const;
  /// For a file that may have quoted fields: `quotes` has '"' for each column with a quoted name.
  void set_quotes(std::string_view quotes);
  [[nodiscard]] bool has_quotes() const noexcept { return has_quotes_; }
  [[nodiscard]] bool is_missing(std::string_view field) const;
  /// Whether a number may mean a missing value, so that fields must first be compared as texts.
  [[nodiscard]] bool numbers_may_be_missing() const noexcept { return numbers_may_be_missing_; }

 private:
  void apply(const TableOptions& options);
  void set_known_units(const FrameRequest& request);
  const FrameRequest* request_;
  std::vector<UsedColumn> columns_;
  std::vector<PlannedVariable> variables_;
  bool numbers_may_be_missing_ = false;
  bool has_quotes_ = false;
  std::string path_;
  std::function<std::string(std::int64_t row_number)> places_;
  std::vector<StrayTexts>* strays_ = nullptr;
};

}  // namespace TESSERA_NAMESPACE::gam

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
  texts,  ///< the fields that are not numbers
  all
};

/// A column of the file read by some variable. A numeric column and factor(x) of it are two such columns.
struct UsedColumn {
  std::string name;
  std::string factor_call;   ///< the variable with its levels, "factor(x)"; empty: the column itself
  int position = 0;          ///< among the columns of the table
  bool text = false;         ///< a factor: its fields are levels
  bool typed = false;        ///< the request determines its type, not its fields
  bool made_factor = false;  ///< a factor by request, though its fields may be numbers
  /// A factor with numbers as levels, as made by R's factor(): 1, 1.0 and 01 are equal, and blanks are
  /// missing.
  bool number_levels = false;
  bool quoted_apart = false;  ///< its name is quoted in the header, and another one is not
  std::string unit{};         ///< of its numbers, if the source has one: "days since 1970-01-01"
  DateFields dates = DateFields::none;
  std::string known_unit{};  ///< unit of the fit's numbers; empty: unknown
  std::string numbers_for;   ///< the variable that needs it as numbers; empty: none
  const std::vector<std::string>* known_levels = nullptr;  ///< all others are unseen
  const std::vector<std::string>* level_order = nullptr;   ///< the order of all its levels; null: sorted
  const ColumnNumbers* in_memory =
      nullptr;  ///< this rank's rows, where they outlive the plan; null: not in memory

  /// Its position among the columns of a file of several; nothing if that file lacks it.
  [[nodiscard]] std::optional<std::size_t> position_among(std::span<const std::string> file_columns) const;
  /// Makes it a factor with literal levels, in this order unless it is null.
  void make_factor(const std::vector<std::string>* order);
  /// The text of the variable that reads this column.
  [[nodiscard]] std::string variable() const {
    return factor_call.empty() ? column_expression(name).text : factor_call;
  }
};

/// Texts in a column most of whose fields are numbers, over the job.
struct StrayTexts {
  std::int64_t count = 0;
  std::string first{};  ///< the beginning of the first
  std::string place{};  ///< where it is
};

/// The variables of a request, mapped to the columns of a file. Refers to the request, which must outlive it.
class ReadPlan {
 public:
  /// Throws `Error(input)` for a column that the file lacks, with the nearest names, and `Error(usage)` for
  /// an option about a column that is not used, or not in this way.
  ReadPlan(const FrameRequest& request, std::span<const std::string> file_columns, std::string path);

  struct PlannedVariable {
    const Expression* expression = nullptr;
    std::vector<int> columns;  ///< indices into `columns()`, in the order of Expression::columns()
    bool may_be_infinite = false;
    bool wants_median = false;
    std::optional<KeySpan> near_median{};  ///< range in which to look for it while reading
    bool left_out_if_infinite = false;
    bool unseen_is_complete = false;  ///< whether a row with an unseen level is complete
  };

  [[nodiscard]] const FrameRequest& request() const noexcept { return *request_; }
  [[nodiscard]] const std::vector<UsedColumn>& columns() const noexcept { return columns_; }
  /// For what a source knows of a column, and the fields that were read.
  [[nodiscard]] UsedColumn& column(std::size_t column) { return columns_[column]; }
  [[nodiscard]] const std::vector<PlannedVariable>& variables() const noexcept { return variables_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// Where the row with a number is, for messages: "data.csv, line 12".
  [[nodiscard]] std::string place(std::int64_t row_number) const;
  /// How `place` tells it; by default "PATH, row 12".
  void set_places(std::function<std::string(std::int64_t row_number)> places) { places_ = std::move(places); }
  /// Columns are only described: texts among numbers are missing values that are added here, one element for
  /// each column, and a factor may have any number of levels.
  void set_strays(std::vector<StrayTexts>* strays) { strays_ = strays; }
  [[nodiscard]] std::vector<StrayTexts>* strays() const noexcept { return strays_; }
  void set_near_median(std::size_t variable, KeySpan range) { variables_[variable].near_median = range; }
  /// Whether the variable is itself a text column; all others are numbers.
  [[nodiscard]] bool is_factor(const PlannedVariable& variable) const;
  /// The numbers of a variable that is a column in memory; else null.
  [[nodiscard]] const ColumnNumbers* in_memory(const PlannedVariable& variable) const;
  /// For a file that may have quoted fields: '"' for each column with a quoted name in the header.
  void set_quotes(std::string_view quotes);
  [[nodiscard]] bool has_quotes() const noexcept { return has_quotes_; }
  /// True for a field that denotes a missing value.
  [[nodiscard]] bool is_missing(std::string_view field) const;
  /// Whether a number may denote a missing value: fields are then compared as texts first.
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

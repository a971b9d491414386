// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/frame.hpp"
#include "gam/data/frame/iso_date.hpp"
#include "gam/data/frame/level_cache.hpp"
#include "gam/data/frame/number_scan.hpp"
#include "gam/data/frame/read_plan.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

/// Converts fields to the columns of a frame, on one thread, for all file formats. A reader passes the fields
/// of requested columns; this class decides about types, levels, expressions and missing values.
///
/// The rules are those of R's read.csv(stringsAsFactors = TRUE), with two exceptions. Quotes mark factors: a
/// column is a factor if at least half of its fields that are not missing or blank are quoted or not numbers.
/// If most fields are numbers without quotes, any other text is an error; R would make the whole column a
/// factor.
///
/// Quotes are ignored if all fields of the file, except missing and blank ones, are quoted; and in a column
/// of quoted numbers with a quoted name, if another column's name is not quoted.
///
/// | field                                | in a column of numbers | in a factor     |
/// | ------------------------------------ | ---------------------- | --------------- |
/// | `NA`, in quotes or not               | missing                | missing         |
/// | empty or blanks, in quotes or not    | missing                | the level as is |
/// | blanks around other characters       | ignored                | part of a level |
/// | a number in quotes                   | that number            | the level as is |
/// | an ISO date, in a column of dates    | days, or seconds       |                 |
///
/// A factor whose texts are all among T, TRUE, F and FALSE has the levels FALSE and TRUE, as in R. A factor
/// of numbers without quotes, by an option or factor(), has numbers as levels (factor_levels.hpp), and the
/// missing values of numbers.
namespace TESSERA_NAMESPACE::gam {

/// The evidence of a field for the type of its column.
enum class FieldKind : std::uint8_t {
  number,         ///< without quotes
  text,           ///< a text: not a number, missing or blank
  quoted_number,  ///< treated as a text unless quotes are ignored
  missing,        ///< missing in a column of any type
  blank,          ///< empty, or blanks
  not_a_level     ///< missing, with surrounding blanks: a level of a factor, but not counted for the type
};

struct FieldCounts {
  std::int64_t numbers = 0;
  std::int64_t texts = 0;
  std::int64_t missing = 0;
  std::int64_t blank = 0;
  std::int64_t quoted_numbers = 0;  ///< count as texts, or as numbers if quotes are ignored
  std::int64_t not_numbers = 0;     ///< NaN in a column of numbers: counts as a number, but is missing
  std::int64_t dates = 0;           ///< dates without a time; count as numbers
  std::int64_t times = 0;           ///< dates with a time; count as numbers
  std::int64_t inexact = 0;         ///< numbers with more digits than a double has
  bool without_quotes = false;      ///< quotes are ignored: see `ignore_quotes`
  static constexpr std::int64_t FieldCounts::*all[] = {
      &FieldCounts::numbers, &FieldCounts::texts,          &FieldCounts::missing,
      &FieldCounts::blank,   &FieldCounts::quoted_numbers, &FieldCounts::not_numbers,
      &FieldCounts::dates,   &FieldCounts::times,          &FieldCounts::inexact};

  /// Makes quoted numbers count as numbers.
  void ignore_quotes() noexcept;
  [[nodiscard]] bool factor() const noexcept { return texts > 0 && texts >= numbers; }
  [[nodiscard]] bool mixes_dates_and_times() const noexcept { return dates > 0 && times > 0; }
  void add(FieldKind kind, std::int64_t count = 1) noexcept;
  FieldCounts& operator+=(const FieldCounts& other) noexcept;
};

/// Whether this map of codes is the identity.
[[nodiscard]] inline bool count_up(std::span<const std::int32_t> codes) {
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (static_cast<std::size_t>(codes[i]) != i) return false;
  }
  return true;
}

/// Dictionary encoding of a factor: the texts of its fields, with a code for each.
struct Dictionary {
  struct Entry {
    std::int32_t code = Variable::missing;
    FieldKind plain = FieldKind::text;   ///< kind of the field if the text is not quoted
    FieldKind quoted = FieldKind::text;  ///< kind of the field if the text is quoted
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };

  void add(std::string_view text, Entry entry);

  std::unordered_map<std::string, Entry, Hash, std::equal_to<>> entries;
  std::vector<std::string> texts;  ///< texts by code
};

/// The codes of a plan's known levels, by column of the plan; empty for columns without known levels.
[[nodiscard]] std::vector<Dictionary> known_levels_of(const ReadPlan& plan);

/// Maximum number of levels: a factor has a coefficient for each. A column with more texts is refused.
inline constexpr std::size_t max_levels = 100'000;
/// Number of unseen levels that a message lists.
inline constexpr std::size_t listed_levels = 5;

/// Whether all codes are in [0, levels).
[[nodiscard]] bool all_levels(std::span<const std::int32_t> codes, std::size_t levels = std::size_t{1} << 31);

[[nodiscard]] std::string excerpt(std::string_view text);

/// The findings of one thread in a column.
struct ColumnFindings {
  struct Stray {
    std::int64_t row_number = 0;  ///< 0: none
    std::string text;
  };

  FieldCounts counts;
  Stray stray;            ///< first text in a column of numbers
  Stray time;             ///< first date with a time
  Dictionary dictionary;  ///< texts of a factor without known levels; each thread has its own codes
  bool too_many_levels = false;
  std::int64_t not_utf8 = 0;            ///< number of the first row with a text that is not UTF-8; 0: none
  std::int64_t unseen_rows = 0;         ///< rows with a text that is not a known level
  std::set<std::string> unseen_levels;  ///< the first few of these levels, in byte order
};

struct BatchColumn {
  std::size_t column = 0;             ///< index in the plan
  std::span<const double> numbers{};  ///< numbers without quotes; NaN: missing
  std::span<const std::int32_t> codes{};
  /// The text of each code, for quoted fields; a negative code is a missing value. The texts must be the same
  /// in each batch until `set_file` or `forget_levels`.
  const std::vector<std::string>* levels = nullptr;
  std::span<const std::string_view> texts{};  ///< quoted fields
};

/// The first infinite value that is not permitted, in a row without missing values.
struct Infinity {
  std::int64_t row = 0;         ///< index of the row in the table, from 0
  std::int64_t row_number = 0;  ///< number of the row for messages
  std::size_t variable = 0;
  bool lasting = false;  ///< whether the column cannot become a factor with levels such as INF or 12e4567
};

/// Fills the frame's columns in some runs of a rank's rows, on one thread and in ascending order, and records
/// findings. Columnar formats set several rows together, by `set_batch`.
///
///     part.begin({17, 20});
///     part.set_number(0, 2.5);        // or set_field: one for each column of the plan
///     part.end_row(18);               // the line of the file, for messages
///     …
///     part.end();
class FramePart {
 public:
  /// One of the `count` reading threads of the rank; `taker` receives its numbers in memory, or is null.
  struct Thread {
    int number;
    int count;
    NumberTaker* taker;
  };
  /// `frame` must have space for all rows of the rank. `known`: from `known_levels_of`. All arguments must
  /// outlive this object.
  FramePart(const ReadPlan& plan, std::span<const Dictionary> known, Frame& frame, const Thread& thread);

  [[nodiscard]] const ReadPlan& plan() const noexcept { return *plan_; }

  void begin(Range rows);
  /// A column with the same field in each row of a run; no text: missing.
  struct Constant {
    std::size_t column = 0;
    std::optional<std::string> text{};
  };
  /// For runs of rows of one of several files: adds `before` to all row numbers, and sets the fields of
  /// constant columns, which are not in the file.
  void set_file(std::int64_t before, std::span<const Constant> constants);

  /// Whether numbers have a decimal comma; `set_file` resets this to false.
  void set_decimal_comma(bool decimal_comma) noexcept;

  /// Sets a number without quotes in a column of numbers.
  void set_number(std::size_t column, double value) noexcept {
    ++found_[column].counts.numbers;
    columns_[column].to[waiting_] = value;
  }
  /// Counts numbers of a column that lost digits in a conversion.
  void note_inexact(std::size_t column, std::int64_t count) { found_[column].counts.inexact += count; }
  /// Sets a raw field of the file. Throws `Error(input)` for a text in a column that must be numeric; other
  /// faults depend on the final type of the column.
  void set_field(std::size_t column, std::string_view text, bool quoted, std::int64_t row_number);
  void end_row(std::int64_t row_number) {
    note_row_number(row_number);
    if (!constants_.empty()) set_constants(row_number);
    if (++waiting_ == most_waiting_) flush();
  }

  /// Number of rows that can be added before the buffered rows are processed.
  [[nodiscard]] std::size_t room() const noexcept { return most_waiting_ - waiting_; }
  /// Memory in the frame for the next rows, where a reader may write the numbers before `set_batch` to avoid
  /// a copy; empty if there is none.
  [[nodiscard]] std::span<double> numbers_to(std::size_t column, std::size_t rows) const noexcept {
    const Column& of = columns_[column];
    return of.column_to == nullptr ? std::span<double>() : std::span(of.to + waiting_, rows);
  }
  /// Sets the fields of rows with consecutive row numbers, and ends the rows. Works column by column, except
  /// for columns whose values must be read as fields. Numbers that the plan has in memory are not copied.
  void set_batch(std::span<const BatchColumn> columns, std::int64_t first_row_number, std::size_t rows);
  void forget_levels(std::size_t column) { columns_[column].levels.clear(); }

  void end() { flush(); }
  /// Ends the current run of consecutive rows before the current row, which has a fault.
  void stop();

  [[nodiscard]] std::span<const Range> runs() const noexcept { return runs_; }
  /// Records that the file has a field that is not quoted, missing or blank.
  void note_bare_field() noexcept { has_bare_field_ = true; }
  [[nodiscard]] bool has_bare_field() const noexcept { return has_bare_field_; }
  [[nodiscard]] const ColumnFindings& found(std::size_t column) const { return found_[column]; }
  [[nodiscard]] const std::optional<Infinity>& infinity() const noexcept { return infinity_; }
  [[nodiscard]] std::int64_t complete_rows() const noexcept { return complete_rows_; }
  /// Number of rows in which the variable is NaN, or infinite if it is `left_out_if_infinite`.
  [[nodiscard]] std::int64_t rows_without(std::size_t variable) const { return rows_without_[variable]; }
  /// The extent of each variable over complete rows; empty for factors.
  [[nodiscard]] std::span<const Extent> extents() const noexcept { return extents_; }
  /// Values found near the median of a variable; empty unless the plan specifies a range.
  [[nodiscard]] BoundedValues& near_median(std::size_t variable) { return near_medians_[variable]; }
  /// The row whose fault ended a run; if none did, an index beyond all rows.
  [[nodiscard]] std::int64_t stopped_at() const noexcept { return stopped_at_; }

 private:
  /// Destination of a column's buffered fields: the frame, scratch memory for expressions, or nothing if the
  /// column is in memory.
  struct Column {
    double* to = nullptr;
    const double* numbers = nullptr;  // buffered rows of a column in memory
    std::int32_t* codes = nullptr;
    double* column_to = nullptr;  // memory for the numbers of all rows; null: scratch memory is used
    const ColumnNumbers* in_memory = nullptr;
    NumberScan scanned{};          // scan of the buffered rows
    std::size_t scanned_rows = 0;  // number of rows in `scanned`; for a factor, rows known to have a level
    std::optional<BoundedValues> near_median{};  // values of these rows near the median, if planned
    std::vector<double> joined{};                // buffered rows of `in_memory` if they span pieces
    std::int32_t* column_of_codes = nullptr;
    std::vector<std::optional<Dictionary::Entry>> levels{};  // cache for `set_levels`
    std::optional<FieldKind> kind{};                         // kind of the first level with a code
    std::vector<std::int32_t> codes_of_kind{};               // codes of the levels of `kind`
    std::unique_ptr<LevelCache<Dictionary::Entry>> cache{};  // cache for `set_field` of a factor
  };

  void set_missing(std::size_t column) noexcept;
  void set_number_field(std::size_t column, double value, std::int64_t row_number);
  void set_numbers(std::size_t column, std::span<const double> numbers) noexcept;
  void set_levels(std::size_t column, std::span<const std::int32_t> codes,
                  std::span<const std::string> levels, std::int64_t first_row_number);
  void look_up_new(std::size_t column, std::span<const std::int32_t> codes,
                   std::span<const std::string> levels, std::int64_t first_row_number);
  void set_field(const BatchColumn& of, std::size_t row, std::int64_t row_number);
  void end_rows(std::int64_t first_row_number, std::size_t count);
  void set_constants(std::int64_t row_number);
  void set_level(std::size_t column, std::string_view text, bool quoted, std::int64_t row_number);
  Dictionary::Entry look_up(std::size_t column, std::string_view text, std::int64_t row_number);
  void set_date(std::size_t column, const IsoDate& date, std::string_view text, std::int64_t row_number);
  void note_stray(std::size_t column, std::string_view text, std::int64_t row_number);
  void flush();
  [[nodiscard]] const double* numbers_of(Column& column);
  [[nodiscard]] const double* numbers_of(std::size_t variable);
  void evaluate(std::size_t variable, std::size_t count);
  [[nodiscard]] NumberScan scan_of(std::size_t variable, std::size_t count);
  void measure_complete(std::size_t count);
  void look_near_medians(std::size_t count, bool all_complete);
  void find_infinity(std::size_t count);
  [[nodiscard]] std::int64_t row_number_of(std::size_t waiting) const;

  const ReadPlan* plan_;
  std::span<const Dictionary> known_;
  Frame* frame_;
  std::vector<Column> columns_;
  std::vector<std::vector<double>> scratch_;
  /// For messages: buffered rows from `first` on have consecutive row numbers.
  struct RowNumbers {
    std::size_t first;
    std::int64_t number;
  };
  void note_row_number(std::int64_t row_number) {
    const std::int64_t number = before_ + row_number;
    if (row_numbers_.empty() || number - row_numbers_.back().number !=
                                    static_cast<std::int64_t>(waiting_ - row_numbers_.back().first))
      row_numbers_.push_back({waiting_, number});
  }
  std::vector<RowNumbers> row_numbers_;  // row numbers of the buffered rows, in order
  std::size_t most_waiting_;
  std::size_t waiting_ = 0;    // buffered rows
  std::size_t processed_ = 0;  // rows being processed
  std::size_t at_ = 0;         // index in the frame of the first row being processed
  std::int64_t before_ = 0;    // added to row numbers
  bool decimal_comma_ = false;
  std::span<const Constant> constants_;
  std::vector<const double*> arguments_;

  std::vector<Range> runs_;
  std::vector<ColumnFindings> found_;
  bool has_bare_field_ = false;
  std::optional<Infinity> infinity_;
  std::int64_t complete_rows_ = 0;
  std::vector<std::int64_t> rows_without_;
  std::vector<Extent> extents_;
  std::vector<Extent> waiting_extents_;  // extents over the buffered rows
  std::vector<BoundedValues> near_medians_;
  std::size_t most_kept_;
  int thread_;
  NumberTaker* taker_;
  std::vector<double> complete_values_;
  std::int64_t stopped_at_ = std::numeric_limits<std::int64_t>::max();
};

}  // namespace TESSERA_NAMESPACE::gam

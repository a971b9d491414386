// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "frame.hpp"

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

/// From rows of fields to a Frame: what every file format shares. A reader hands over the fields of the
/// columns that are wanted; types, levels, expressions and missing values are decided here.
namespace tessera::fit {

/// A column of the file that some variable reads.
struct UsedColumn {
  std::string name;
  int place = 0;            ///< among the columns of the file
  bool text = false;        ///< a factor: its fields are levels
  std::string numbers_for;  ///< the variable that needs it as numbers; empty if none does
  const std::vector<std::string>* known_levels = nullptr;  ///< the only levels allowed
};

/// The variables of a request in terms of the columns of a file. It refers to the request, which must
/// stay.
class ReadPlan {
 public:
  /// Throws `Error(input)` for a column that the file does not have, with the names nearest to it.
  ReadPlan(const FrameRequest& request, std::span<const std::string> file_columns, std::string path);

  struct PlannedVariable {
    const Expression* expression = nullptr;
    std::vector<int> columns;  ///< places in `columns()`, as Expression::columns() has them
  };

  [[nodiscard]] const std::vector<UsedColumn>& columns() const noexcept { return columns_; }
  [[nodiscard]] const std::vector<PlannedVariable>& variables() const noexcept { return variables_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// A column of text by itself; all else is numbers.
  [[nodiscard]] bool is_factor(const PlannedVariable& variable) const;
  void set_text(std::size_t column) { columns_[column].text = true; }

 private:
  std::vector<UsedColumn> columns_;
  std::vector<PlannedVariable> variables_;
  std::string path_;
};

/// Takes the fields of this rank's rows, row after row.
///
///     builder.set_number(0, 2.5);        // or set_missing, set_text: one for each column of the plan
///     builder.end_row(17);               // the line of the file, for messages
class FrameBuilder {
 public:
  /// `row_word` is what messages call a row's number: "line" or "row".
  FrameBuilder(const ReadPlan& plan, tessera::Range rows, std::string_view row_word);

  [[nodiscard]] const ReadPlan& plan() const noexcept { return plan_; }

  void set_number(std::size_t column, double value) noexcept { numbers_[column] = value; }
  void set_missing(std::size_t column) noexcept {
    numbers_[column] = std::numeric_limits<double>::quiet_NaN();
    codes_[column] = -1;
  }
  /// Text where the plan has numbers is remembered: see `found_text`. Throws `Error(input)` where an
  /// expression needs numbers, for a level that is not a known one, and for one that is not UTF-8.
  void set_text(std::size_t column, std::string_view text, std::int64_t row_number);
  /// Ends a row: evaluates its expressions. Throws `Error(input)` for an infinite value of what must be
  /// numbers; that of a column which text may yet make a factor, with INF or 12e4567 as a level, is
  /// remembered.
  void end_row(std::int64_t row_number);

  /// Columns planned as numbers in which text was met: 1, else 0. Such a frame is not to be finished.
  [[nodiscard]] const std::vector<std::int32_t>& found_text() const noexcept { return found_text_; }
  /// Throws `Error(input)` with the first infinite value that was remembered, if there is one: to be called
  /// once no rank has found text.
  void refuse_infinity() const;
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
  };

  std::int32_t code_of(std::size_t column, std::string_view text, std::int64_t row_number);
  void agree_on_levels(const tessera::mpi::Communicator& comm, Variable& variable, std::size_t column);

  const ReadPlan& plan_;
  std::string row_word_;
  Frame frame_;
  std::size_t row_ = 0;
  std::vector<double> numbers_;      // of the row at hand, a column each
  std::vector<std::int32_t> codes_;  // the same
  std::vector<double> arguments_;    // of the expression at hand
  std::vector<Dictionary> dictionaries_;
  std::vector<std::int32_t> found_text_;
  std::string infinity_;  // what to say of the first one; empty: none
};

/// Hands the fields of some rows of the file to a builder.
using RowScan = std::function<void(tessera::Range rows, FrameBuilder& builder)>;

/// *Collective.* Reads this rank's rows. A column whose sampled rows hold numbers is read as numbers; if
/// text turns up later on any rank, it becomes a factor for the whole job and the rows are read again.
[[nodiscard]] Frame read_frame(const tessera::mpi::Communicator& comm, ReadPlan plan, tessera::Range rows,
                               std::int64_t file_rows, std::string_view row_word, const RowScan& scan);

/// Texts as one text, and back: what `broadcast_text` and `allgather_text` carry.
[[nodiscard]] std::string pack(std::span<const std::string> texts);
[[nodiscard]] std::vector<std::string> unpack(std::string_view packed);

}  // namespace tessera::fit

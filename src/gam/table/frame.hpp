// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/formula/formula.hpp"

#include <tessera/gam/table_options.hpp>
#include <tessera/partition/plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::gam {

/// The numbers of a variable: its own, or borrowed from a table in memory, which must stay and not change.
class Numbers {
 public:
  Numbers() = default;
  // They are one: NOLINTNEXTLINE(google-explicit-constructor)
  Numbers(std::vector<double> own) : own_(std::move(own)) {}
  Numbers(std::initializer_list<double> own) : own_(own) {}
  [[nodiscard]] static Numbers borrow(std::span<const double> numbers) {
    Numbers out;
    out.borrowed_ = numbers;
    return out;
  }

  /// To be written to: borrowed numbers are copied first.
  [[nodiscard]] std::vector<double>& own() {
    if (!borrowed_.empty()) {
      own_.assign(borrowed_.begin(), borrowed_.end());
      borrowed_ = {};
    }
    return own_;
  }

  [[nodiscard]] const double* data() const noexcept { return all().data(); }
  [[nodiscard]] std::size_t size() const noexcept { return all().size(); }
  [[nodiscard]] bool empty() const noexcept { return all().empty(); }
  [[nodiscard]] auto begin() const noexcept { return all().begin(); }
  [[nodiscard]] auto end() const noexcept { return all().end(); }
  [[nodiscard]] double operator[](std::size_t row) const noexcept { return data()[row]; }
  friend bool operator==(const Numbers& a, const Numbers& b) { return std::ranges::equal(a.all(), b.all()); }

 private:
  [[nodiscard]] std::span<const double> all() const noexcept {
    return borrowed_.empty() ? std::span(own_) : borrowed_;
  }

  std::vector<double> own_;
  std::span<const double> borrowed_;
};

/// One variable of the model over this rank's rows: numbers, or codes of a factor's levels.
struct Variable {
  static constexpr std::int32_t missing = -1;  ///< the code of a missing value
  static constexpr std::int32_t unseen = -2;   ///< predicting: the code of a level that the model lacks
  std::string name;                            ///< the expression's text
  bool factor = false;
  Numbers numbers;                  ///< one a row if numeric
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
inline constexpr std::size_t max_columns = 1'000'000;

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

}  // namespace tessera::gam

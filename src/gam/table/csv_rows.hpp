// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/table/byte_source.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::gam {

/// A character that alone makes no content of a line.
[[nodiscard]] constexpr bool is_blank(char c) noexcept {
  return c == ' ' || c == '\t' || c == '\r';
}

/// Cuts the bytes of a CSV file into rows, with a buffer that grows only to hold a row.
///
/// A row ends at a newline outside quotes (LF or CRLF) or at the end of the file. Lines of nothing but
/// blanks are no rows.
class CsvRowReader {
 public:
  /// Reads on from `offset`, which is outside quotes and on line `line`.
  CsvRowReader(ByteSource& source, std::string path, std::size_t buffer_bytes, std::int64_t offset,
               std::int64_t line);

  /// The next row without its end; false after the last one. Throws `Error(input)` for a quote that is
  /// never closed.
  [[nodiscard]] bool next();

  [[nodiscard]] std::string_view row() const noexcept { return {buffer_.data() + row_begin_, row_size_}; }
  [[nodiscard]] bool has_quotes() const noexcept { return has_quotes_; }
  /// The line that the row begins on, counted from 1.
  [[nodiscard]] std::int64_t line() const noexcept { return row_line_; }
  /// Behind the row and its end: the byte, and the line.
  [[nodiscard]] std::int64_t next_offset() const noexcept { return offset_ + static_cast<std::int64_t>(at_); }
  [[nodiscard]] std::int64_t next_line() const noexcept { return line_; }

 private:
  bool cut();
  bool refill();

  ByteSource& source_;
  std::string path_;
  std::vector<char> buffer_;
  std::size_t filled_ = 0;
  std::size_t at_ = 0;   // where the next row begins
  std::int64_t offset_;  // of the buffer's first byte in the file
  std::int64_t line_;    // at at_
  bool end_of_file_ = false;
  std::size_t row_begin_ = 0;
  std::size_t row_size_ = 0;
  std::int64_t row_line_ = 0;
  bool has_quotes_ = false;
};

/// One field of a row.
struct CsvField {
  std::string_view text;  ///< every character of it, blanks too, but for the quotes around it
  bool quoted = false;
};

/// Takes a row apart, field after field.
class CsvFields {
 public:
  CsvFields(std::string_view row, bool has_quotes) noexcept : rest_(row), has_quotes_(has_quotes) {}

  /// True if there is another field; an empty row has one.
  [[nodiscard]] bool more() const noexcept { return more_; }
  /// The next field as a number, if it is an unquoted one in plain notation; it is taken then.
  [[nodiscard]] std::optional<double> number() noexcept;
  /// The next field. A text with doubled quotes, or with blanks outside its quotes, is made whole in
  /// `scratch`. Throws what is wrong with the quotes, as text for an Error.
  [[nodiscard]] CsvField field(std::string& scratch);
  /// Passes over the next field, unread.
  void skip();

 private:
  CsvField quoted(std::size_t open, std::string& scratch);
  void take(std::size_t size) noexcept;

  std::string_view rest_;
  bool has_quotes_;
  bool more_ = true;
};

/// A text without the blanks (and tabs) around it.
[[nodiscard]] std::string_view trimmed(std::string_view text) noexcept;

/// What is wrong with a row, without file and line.
struct CsvFault {
  std::string_view reason;
};

/// A number as R reads it: decimal or hexadecimal, with a sign; Inf, infinity, NaN. Nothing if the text is
/// something else. Blanks around it must be gone. What is too large is infinite, what is too small 0.
[[nodiscard]] std::optional<double> parse_number(std::string_view text);

}  // namespace tessera::gam

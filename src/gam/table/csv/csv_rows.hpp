// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/table/bytes/byte_source.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
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

  /// Reads on from another place, to the byte `end`, at which a row begins, or else to the file's end.
  void go_to(std::int64_t offset, std::int64_t line, std::int64_t end);

  /// The next row without its end; false after the last one. Throws `Error(input)` for a quote that is
  /// never closed.
  [[nodiscard]] bool next();

  /// `decimal_padding` bytes behind it can be read.
  [[nodiscard]] std::string_view row() const noexcept { return {buffer_.data() + row_begin_, row_size_}; }
  /// Where its fields end, counted from its first byte: at each comma outside of quotes, and with the row.
  [[nodiscard]] std::span<const std::uint32_t> field_ends() const noexcept { return {ends_.data(), fields_}; }
  [[nodiscard]] std::size_t quotes() const noexcept { return quotes_; }
  /// The line that the row begins on, counted from 1.
  [[nodiscard]] std::int64_t line() const noexcept { return row_line_; }
  /// Behind the row and its end: the byte, and the line.
  [[nodiscard]] std::int64_t next_offset() const noexcept { return offset_ + static_cast<std::int64_t>(at_); }
  [[nodiscard]] std::int64_t next_line() const noexcept { return line_; }

 private:
  bool cut();
  bool refill();
  void look_at_block();
  void pass_in_block(std::uint64_t places);

  /// What is at hand of a block of the buffer: the places that are not passed yet.
  struct Block {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::uint64_t separators = 0;  // commas and newlines outside of quotes
    std::uint64_t quotes = 0;
    std::uint64_t inner_newlines = 0;  // within quotes
  };

  ByteSource& source_;
  std::string path_;
  std::vector<char> buffer_;  // and the padding
  std::size_t filled_ = 0;
  Block block_;
  bool inside_ = false;      // of quotes, behind the block
  std::size_t at_ = 0;       // where the next row begins
  std::int64_t offset_ = 0;  // of the buffer's first byte in the file
  std::int64_t line_ = 0;    // at at_
  std::int64_t end_ = 0;     // of what is read
  bool end_of_file_ = false;
  std::size_t row_begin_ = 0;
  std::size_t row_size_ = 0;
  std::int64_t row_line_ = 0;
  std::size_t quotes_ = 0;
  std::vector<std::uint32_t> ends_;  // room for those of the row and of a block
  std::size_t fields_ = 0;
};

/// One field of a row.
struct CsvField {
  std::string_view text;  ///< every character of it, blanks too, but for the quotes around it
  bool quoted = false;
};

/// Takes the row of a reader apart, field after field.
class CsvFields {
 public:
  explicit CsvFields(const CsvRowReader& reader) noexcept
      : rest_(reader.row()), has_quotes_(reader.quotes() > 0) {}

  /// True if there is another field; an empty row has one.
  [[nodiscard]] bool more() const noexcept { return more_; }
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

/// What is wrong with a row, without file and line.
struct CsvFault {
  std::string_view reason;
};

}  // namespace tessera::gam

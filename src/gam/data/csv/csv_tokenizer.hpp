// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/bytes/byte_source.hpp"
#include "gam/data/csv/csv_dialect.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

struct CsvField {
  std::string_view text;  ///< with blanks, without the enclosing quotes
  bool quoted = false;
};

/// The fault of a row, without file and line.
struct CsvFault {
  std::string_view reason;
};

/// Tokenizer: splits the bytes of a CSV file into rows and fields, in a buffer that grows only to hold a row.
///
/// A row ends at a newline outside quotes (LF or CRLF) or at the end of the file. Lines with only blanks and
/// comment lines are skipped.
class CsvRowReader {
 public:
  /// Begins at `offset`, which must be outside quotes; `line` is its line number.
  CsvRowReader(ByteReader& source, std::string path, std::size_t buffer_bytes, std::int64_t offset,
               std::int64_t line, const CsvDialect& dialect = {});

  /// Continues at another offset, where a row begins, up to byte `end` or the end of the file.
  void go_to(std::int64_t offset, std::int64_t line, std::int64_t end);

  /// Reads the next row, without its line end; false after the last row. Throws `Error(input)` for an
  /// unclosed quote.
  [[nodiscard]] bool next();
  /// Skips everything up to the next newline, also in quotes; false if there is no newline.
  bool skip_line();

  /// The current row; `decimal_padding` bytes after it are readable.
  [[nodiscard]] std::string_view row() const noexcept { return {buffer_.data() + row_begin_, row_size_}; }
  /// The ends of the row's fields as offsets in the row: each separator outside quotes, and the row's end.
  [[nodiscard]] std::span<const std::uint32_t> field_ends() const noexcept { return {ends_.data(), fields_}; }
  [[nodiscard]] std::string_view field(std::size_t index) const {
    const std::size_t begin = index == 0 ? 0 : ends_[index - 1] + std::size_t{1};
    return row().substr(begin, ends_[index] - begin);
  }
  /// A text with doubled quotes, or with blanks outside its quotes, is assembled in `scratch`. Throws a
  /// `CsvFault` for misplaced quotes.
  [[nodiscard]] CsvField content(std::size_t index, std::string& scratch) const;
  [[nodiscard]] std::size_t quotes() const noexcept { return quotes_; }
  /// File offset of the first byte of the current row.
  [[nodiscard]] std::int64_t row_offset() const noexcept {
    return offset_ + static_cast<std::int64_t>(row_begin_);
  }
  /// The number of the line on which the row begins, from 1.
  [[nodiscard]] std::int64_t line() const noexcept { return row_line_; }
  /// The offset and the line number after the row and its line end.
  [[nodiscard]] std::int64_t next_offset() const noexcept { return offset_ + static_cast<std::int64_t>(at_); }
  [[nodiscard]] std::int64_t next_line() const noexcept { return line_; }

 private:
  bool cut();
  bool refill();
  bool is_comment();
  void look_at_block();
  void pass_in_block(std::uint64_t places);

  /// Bit masks of a block of the buffer: bytes that are not yet processed.
  struct Block {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::uint64_t separators = 0;  // field separators and newlines outside quotes
    std::uint64_t quotes = 0;
    std::uint64_t inner_newlines = 0;  // newlines inside quotes
  };

  ByteReader& source_;
  std::string path_;
  CsvDialect dialect_;
  std::vector<char> buffer_;  // the bytes, followed by the padding
  std::size_t filled_ = 0;
  Block block_;
  bool inside_ = false;      // whether the byte after the block is inside quotes
  std::size_t at_ = 0;       // where the next row begins
  std::int64_t offset_ = 0;  // offset in the file of the buffer's first byte
  std::int64_t line_ = 0;    // line number at `at_`
  std::int64_t end_ = 0;     // end of the range to read
  bool end_of_file_ = false;
  std::size_t row_begin_ = 0;
  std::size_t row_size_ = 0;
  std::int64_t row_line_ = 0;
  std::size_t quotes_ = 0;
  std::vector<std::uint32_t> ends_;  // capacity for the row and one block
  std::size_t fields_ = 0;
};

}  // namespace TESSERA_NAMESPACE::gam

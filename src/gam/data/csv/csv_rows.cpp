// SPDX-License-Identifier: Apache-2.0
#include "gam/data/csv/csv_rows.hpp"

#include "base/errors.hpp"
#include "base/text.hpp"
#include "gam/data/csv/byte_places.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

// Limit of the bytes of a row: a longer one has an unclosed quote.
constexpr std::size_t max_row_bytes = std::size_t{64} << 20;
// Readable bytes after the data: blocks begin anywhere, and numbers are read eight bytes at a time.
constexpr std::size_t padding = block_bytes;
static_assert(padding >= decimal_padding);

/// The lowest bits, up to and including this one.
std::uint64_t up_to(int bit) {
  return ~std::uint64_t{0} >> (63 - bit);
}

}  // namespace

CsvRowReader::CsvRowReader(ByteReader& source, std::string path, std::size_t buffer_bytes,
                           std::int64_t offset, std::int64_t line, const CsvDialect& dialect)
    : source_(source), path_(std::move(path)), dialect_(dialect), buffer_(buffer_bytes + padding) {
  go_to(offset, line, std::numeric_limits<std::int64_t>::max());
}

void CsvRowReader::go_to(std::int64_t offset, std::int64_t line, std::int64_t end) {
  source_.seek(offset);
  filled_ = at_ = 0;
  block_ = {};
  inside_ = false;
  offset_ = offset;
  line_ = line;
  end_ = end;
  end_of_file_ = false;
}

// Moves unused bytes to the front and fills the rest of the buffer; false at the end of the file.
bool CsvRowReader::refill() {
  if (end_of_file_) return false;
  std::memmove(buffer_.data(), buffer_.data() + at_, filled_ - at_);
  filled_ -= at_;
  block_.end -= at_;
  offset_ += static_cast<std::int64_t>(at_);
  at_ = 0;
  std::size_t capacity = buffer_.size() - padding;
  if (filled_ == capacity) {
    if (filled_ >= max_row_bytes)
      throw base::input_error(
          "{}, line {}: the row has more than {} MiB: close its quotes, and end each row by a newline", path_,
          row_line_, max_row_bytes >> 20);
    capacity *= 2;
    buffer_.resize(capacity + padding);
  }
  const auto wanted =
      std::min(static_cast<std::int64_t>(capacity), end_ - offset_) - static_cast<std::int64_t>(filled_);
  const std::size_t got =
      wanted <= 0 ? 0 : source_.read(std::span(buffer_).subspan(filled_, static_cast<std::size_t>(wanted)));
  filled_ += got;
  end_of_file_ = got == 0;
  return !end_of_file_;
}

bool CsvRowReader::next() {
  const auto is_blank = [dialect = dialect_](char c) { return dialect.is_blank(c); };
  for (;;) {
    while (dialect_.comment != '\0' && is_comment()) skip_line();
    if (!cut()) return false;
    const std::string_view text = row();
    if (!std::all_of(text.begin(), text.end(), is_blank)) return true;
  }
}

// Whether the next line is a comment.
bool CsvRowReader::is_comment() {
  std::size_t blanks = 0;
  // Quotes in a comment mean nothing: the next block begins here, outside of quotes.
  block_ = {.begin = at_, .end = at_};
  inside_ = false;
  while (at_ + blanks < filled_ || refill()) {
    const char c = buffer_[at_ + blanks];
    if (!dialect_.is_blank(c)) return c == dialect_.comment;
    ++blanks;
  }
  return false;
}

bool CsvRowReader::skip_line() {
  for (;;) {
    const char* const begin = buffer_.data() + at_;
    const auto* const end = static_cast<const char*>(std::memchr(begin, '\n', filled_ - at_));
    at_ = end == nullptr ? filled_ : at_ + static_cast<std::size_t>(end - begin) + 1;
    block_ = {.begin = at_, .end = at_};
    inside_ = false;
    if (end != nullptr) {
      ++line_;
      return true;
    }
    if (!refill()) return false;
  }
}

// Extends the row to the next line end outside quotes; false if there is none left.
bool CsvRowReader::cut() {
  row_line_ = line_;
  quotes_ = fields_ = 0;
  std::size_t end = 0;
  for (bool ended = false; !ended;) {
    for (; block_.separators != 0 && !ended; block_.separators &= block_.separators - 1) {
      const int bit = std::countr_zero(block_.separators);
      end = block_.begin + static_cast<std::size_t>(bit);
      ends_[fields_++] = static_cast<std::uint32_t>(end - at_);
      ended = buffer_[end] == '\n';
      if (ended) {
        ++line_;
        pass_in_block(up_to(bit));
      }
    }
    if (ended) break;
    pass_in_block(~std::uint64_t{0});
    if (block_.end < filled_ || refill()) {
      look_at_block();
      continue;
    }
    if (inside_)
      throw base::input_error("{}, line {}: a quote of this row is never closed: close it", path_, row_line_);
    if (filled_ == at_) return false;
    end = filled_;
    ends_[fields_++] = static_cast<std::uint32_t>(end - at_);
    break;
  }
  row_begin_ = at_;
  row_size_ = end - at_;
  at_ = std::min(end + 1, filled_);
  if (row_size_ > 0 && buffer_[end - 1] == '\r') {
    --row_size_;
    --ends_[fields_ - 1];
  }
  return true;
}

// Scans the next block of the buffer.
void CsvRowReader::look_at_block() {
  block_.begin = block_.end;
  block_.end = std::min(filled_, block_.begin + block_bytes);
  const char* const bytes = buffer_.data() + block_.begin;
  const std::uint64_t there = up_to(static_cast<int>(block_.end - block_.begin) - 1);
  block_.separators = (places_of('\n', bytes) | places_of(dialect_.separator, bytes)) & there;
  block_.quotes = places_of('"', bytes) & there;
  if (inside_ || block_.quotes != 0) {
    const std::uint64_t within = parities(block_.quotes) ^ (inside_ ? ~std::uint64_t{0} : 0);
    block_.inner_newlines = places_of('\n', bytes) & there & within;
    block_.separators &= ~within;
    inside_ = (within >> 63) != 0;
  }
  if (ends_.size() <= fields_ + block_bytes) ends_.resize(2 * ends_.size() + 2 * block_bytes);
}

// Records the row's separators in the block, and removes them.
void CsvRowReader::pass_in_block(std::uint64_t places) {
  if ((block_.quotes | block_.inner_newlines) == 0) return;
  line_ += std::popcount(block_.inner_newlines & places);
  quotes_ += static_cast<std::size_t>(std::popcount(block_.quotes & places));
  block_.inner_newlines &= ~places;
  block_.quotes &= ~places;
}

void CsvFields::take(std::size_t size) noexcept {
  more_ = size < rest_.size();  // a separator follows
  rest_.remove_prefix(more_ ? size + 1 : size);
}

CsvField CsvFields::field(std::string& scratch) {
  if (has_quotes_) {
    std::size_t begin = 0;
    while (begin < rest_.size() && dialect_.is_blank(rest_[begin])) ++begin;
    if (begin < rest_.size() && rest_[begin] == '"') return quoted(begin, scratch);
  }
  const std::size_t size = std::min(rest_.find(dialect_.separator), rest_.size());
  const std::string_view text = rest_.substr(0, size);
  if (has_quotes_ && text.find('"') != std::string_view::npos)
    throw CsvFault{
        "a quote is inside a field that does not begin with one: quote the field and double the quote"};
  take(size);
  return {text, false};
}

CsvField CsvFields::quoted(std::size_t open, std::string& scratch) {
  const std::size_t begin = open + 1;
  std::size_t close = rest_.find('"', begin);
  std::string_view text = rest_.substr(begin, close - begin);
  if (close + 1 < rest_.size() && rest_[close + 1] == '"') {
    scratch.clear();
    std::size_t from = begin;
    while (close + 1 < rest_.size() && rest_[close + 1] == '"') {
      scratch.append(rest_.substr(from, close + 1 - from));
      from = close + 2;
      close = rest_.find('"', from);
    }
    scratch.append(rest_.substr(from, close - from));
    text = scratch;
  }
  std::size_t behind = close + 1;
  while (behind < rest_.size() && dialect_.is_blank(rest_[behind])) ++behind;
  if (behind < rest_.size() && rest_[behind] != dialect_.separator)
    throw CsvFault{"text follows the closing quote of a field: double the quotes inside a field"};
  if (open > 0 || behind > close + 1) {
    // As in R, blanks outside the quotes are part of the text.
    std::string whole(rest_.substr(0, open));
    whole.append(text).append(rest_.substr(close + 1, behind - close - 1));
    scratch = std::move(whole);
    text = scratch;
  }
  take(behind);
  return {text, true};
}

void CsvFields::skip() {
  if (has_quotes_) {
    std::string scratch;
    static_cast<void>(field(scratch));
  } else {
    take(std::min(rest_.find(dialect_.separator), rest_.size()));
  }
}

}  // namespace TESSERA_NAMESPACE::gam

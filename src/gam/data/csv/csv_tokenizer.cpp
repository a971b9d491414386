// SPDX-License-Identifier: Apache-2.0
#include "gam/data/csv/csv_tokenizer.hpp"

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

// Maximum bytes of a row: a longer row is taken for an unclosed quote.
constexpr std::size_t max_row_bytes = std::size_t{64} << 20;
// Readable bytes after the data, because blocks begin anywhere and numbers are read eight bytes at a time.
constexpr std::size_t padding = block_bytes;
static_assert(padding >= decimal_padding);

/// A mask of the lowest bits, up to and including bit `bit`.
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

bool CsvRowReader::is_comment() {
  std::size_t blanks = 0;
  // Quotes in a comment have no meaning: a new block begins after the comment, outside quotes.
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

// Extends the row to the next line end outside quotes, or the end of the file; false if no bytes are left.
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

// Counts the quotes and inner newlines at `places`, and removes them from the block.
void CsvRowReader::pass_in_block(std::uint64_t places) {
  if ((block_.quotes | block_.inner_newlines) == 0) return;
  line_ += std::popcount(block_.inner_newlines & places);
  quotes_ += static_cast<std::size_t>(std::popcount(block_.quotes & places));
  block_.inner_newlines &= ~places;
  block_.quotes &= ~places;
}

CsvField CsvRowReader::content(std::size_t index, std::string& scratch) const {
  const std::string_view raw = field(index);
  if (quotes_ == 0 || raw.find('"') == std::string_view::npos) return {raw, false};
  const auto after_blanks = [&](std::size_t at) {
    while (at < raw.size() && dialect_.is_blank(raw[at])) ++at;
    return at;
  };
  const std::size_t open = after_blanks(0);
  if (raw[open] != '"')
    throw CsvFault{
        "a quote is inside a field that does not begin with one: quote the field and double the quote"};
  // A separator within quotes does not end the field: a whole field has an even number of quotes.
  std::size_t from = open + 1;
  std::size_t close = raw.find('"', from);
  std::string_view text = raw.substr(from, close - from);
  if (raw.substr(close + 1).starts_with('"')) {
    scratch.clear();
    for (; raw.substr(close + 1).starts_with('"'); close = raw.find('"', from)) {
      scratch.append(raw.substr(from, close + 1 - from));
      from = close + 2;
    }
    text = scratch.append(raw.substr(from, close - from));
  }
  if (after_blanks(close + 1) < raw.size())
    throw CsvFault{"text follows the closing quote of a field: double the quotes inside a field"};
  if (open > 0 || close + 1 < raw.size()) {
    // As in R, blanks outside the quotes are part of the text.
    std::string whole(raw.substr(0, open));
    text = scratch = whole.append(text).append(raw.substr(close + 1));
  }
  return {text, true};
}

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#include "gam/table/csv_rows.hpp"

#include "base/text.hpp"

#include <tessera/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

namespace tessera::gam {
namespace {

// A longer row is one whose quote is never closed.
constexpr std::size_t max_row_bytes = std::size_t{64} << 20;

bool equals_ignoring_case(std::string_view text, std::string_view lower) {
  return text.size() == lower.size() &&
         std::equal(text.begin(), text.end(), lower.begin(), [](char a, char b) { return (a | 0x20) == b; });
}

}  // namespace

void append_commas(std::string_view text, std::vector<std::size_t>& places) {
  constexpr std::uint64_t low_bits = 0x7F7F7F7F7F7F7F7F;
  for (std::size_t begin = 0; begin < text.size(); begin += 8) {
    const std::uint64_t others = eight_bytes(text.data() + begin) ^ 0x2C2C2C2C2C2C2C2C;
    // The highest bit of each byte that is nothing in `others`.
    std::uint64_t commas = ~(((others & low_bits) + low_bits) | others | low_bits);
    for (; commas != 0; commas &= commas - 1) {
      const std::size_t place = begin + static_cast<std::size_t>(std::countr_zero(commas)) / 8;
      if (place >= text.size()) return;
      places.push_back(place);
    }
  }
}

bool has_odd_quotes(std::string_view text) noexcept {
  unsigned char odd = 0;
  for (const char c : text) odd ^= static_cast<unsigned char>(c == '"' ? 1 : 0);
  return odd != 0;
}

std::string_view trimmed(std::string_view text) noexcept {
  return base::trimmed(text, " \t\r");
}

CsvRowReader::CsvRowReader(ByteSource& source, std::string path, std::size_t buffer_bytes,
                           std::int64_t offset, std::int64_t line)
    : source_(source), path_(std::move(path)), buffer_(buffer_bytes + decimal_padding) {
  go_to(offset, line, std::numeric_limits<std::int64_t>::max());
}

void CsvRowReader::go_to(std::int64_t offset, std::int64_t line, std::int64_t end) {
  source_.seek(offset);
  filled_ = at_ = 0;
  offset_ = offset;
  line_ = line;
  end_ = end;
  end_of_file_ = false;
}

// Makes room behind what is not used up yet, and fills it; false at the end of the file.
bool CsvRowReader::refill() {
  if (end_of_file_) return false;
  std::memmove(buffer_.data(), buffer_.data() + at_, filled_ - at_);
  filled_ -= at_;
  offset_ += static_cast<std::int64_t>(at_);
  at_ = 0;
  std::size_t capacity = buffer_.size() - decimal_padding;
  if (filled_ == capacity) {
    if (filled_ >= max_row_bytes)
      throw Error(
          ErrorCode::input,
          fmt::format(
              "{}, line {}: a row of more than {} MiB; is a quote not closed, or are there no newlines?",
              path_, row_line_, max_row_bytes >> 20));
    capacity *= 2;
    buffer_.resize(capacity + decimal_padding);
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
  while (cut()) {
    const std::string_view text = row();
    if (!std::all_of(text.begin(), text.end(), is_blank)) return true;
  }
  return false;
}

// Takes the text up to the next line end outside quotes; false if there is none left.
bool CsvRowReader::cut() {
  row_line_ = line_;
  has_quotes_ = false;
  bool inside = false;
  std::size_t scanned = 0;  // of the row
  for (;;) {
    const std::string_view rest{buffer_.data() + at_ + scanned, filled_ - at_ - scanned};
    const std::size_t size = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, size);
    if (const std::size_t quote = line.find('"'); quote != std::string_view::npos) {
      has_quotes_ = true;
      inside = inside != has_odd_quotes(line.substr(quote));
    }
    scanned += size;
    const bool ended = size < rest.size();
    if (!ended && refill()) continue;
    if (!ended && inside)
      throw Error(ErrorCode::input,
                  fmt::format("{}, line {}: a quote of this row is never closed", path_, row_line_));
    if (!ended && scanned == 0) return false;
    if (ended) ++line_;
    if (ended && inside) {
      ++scanned;
      continue;
    }
    row_begin_ = at_;
    row_size_ = scanned;
    if (scanned > 0 && buffer_[at_ + scanned - 1] == '\r') --row_size_;
    at_ += ended ? scanned + 1 : scanned;
    return true;
  }
}

void CsvFields::take(std::size_t size) noexcept {
  more_ = size < rest_.size();  // there is a comma
  rest_.remove_prefix(more_ ? size + 1 : size);
}

CsvField CsvFields::field(std::string& scratch) {
  if (has_quotes_) {
    std::size_t begin = 0;
    while (begin < rest_.size() && is_blank(rest_[begin])) ++begin;
    if (begin < rest_.size() && rest_[begin] == '"') return quoted(begin, scratch);
  }
  const std::size_t size = std::min(rest_.find(','), rest_.size());
  const std::string_view text = rest_.substr(0, size);
  if (has_quotes_ && text.find('"') != std::string_view::npos)
    throw CsvFault{
        "a quote inside a field that does not begin with one; quote the field and double the quote"};
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
  while (behind < rest_.size() && is_blank(rest_[behind])) ++behind;
  if (behind < rest_.size() && rest_[behind] != ',')
    throw CsvFault{"text behind the closing quote of a field"};
  if (open > 0 || behind > close + 1) {
    // As R has it: blanks outside the quotes are part of the text.
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
    take(std::min(rest_.find(','), rest_.size()));
  }
}

std::optional<double> parse_number(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const bool negative = text[0] == '-';
  const std::string_view magnitude = text.substr(negative || text[0] == '+' ? 1 : 0);
  if (magnitude.empty()) return std::nullopt;
  double value = 0;
  if (equals_ignoring_case(magnitude, "nan")) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (equals_ignoring_case(magnitude, "inf") || equals_ignoring_case(magnitude, "infinity")) {
    value = std::numeric_limits<double>::infinity();
  } else {
    const bool hexadecimal = magnitude.size() > 2 && magnitude[0] == '0' && (magnitude[1] | 0x20) == 'x';
    const std::string_view digits = magnitude.substr(hexadecimal ? 2 : 0);
    if (digits[0] != '.' && !(digits[0] >= '0' && digits[0] <= '9') && !hexadecimal) return std::nullopt;
    if (digits[0] == '-') return std::nullopt;
    const char* const end = digits.data() + digits.size();
    const auto result = std::from_chars(digits.data(), end, value,
                                        hexadecimal ? std::chars_format::hex : std::chars_format::general);
    if (result.ptr != end) return std::nullopt;
    // from_chars leaves the value alone where it overflows or underflows; strtod gives the limit.
    if (result.ec == std::errc::result_out_of_range)
      value = std::strtod(std::string(magnitude).c_str(), nullptr);
    else if (result.ec != std::errc{})
      return std::nullopt;
  }
  return negative ? -value : value;
}

}  // namespace tessera::gam

// SPDX-License-Identifier: Apache-2.0
#include "gam/data/csv/csv_dialect.hpp"

#include "base/errors.hpp"
#include "gam/data/csv/csv_tokenizer.hpp"
#include "gam/data/frame/field_parsing.hpp"

#include <tessera/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// A dialect is inferred from the header and at most this many rows, within this many bytes.
constexpr std::size_t rows_to_judge_by = 100;
constexpr std::int64_t bytes_to_judge_by = std::int64_t{16} << 20;

struct Separator {
  char character;
  std::string_view plural;
};
constexpr std::array<Separator, 4> separators{
    {{',', "commas"}, {'\t', "tabs"}, {';', "semicolons"}, {'|', "bars"}}};
using Counts = std::array<std::size_t, separators.size()>;

bool is_decimal_digit(char c) {
  return c >= '0' && c <= '9';
}

/// The character that an option names; NUL if none.
char character_of(std::string_view option, const std::string& text) {
  if (text.empty()) return '\0';
  if (text == "tab" || text == "\\t") return '\t';
  const char c = text[0];
  const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  if (text.size() > 1 || c == '"' || c == '\n' || c == '\r' || is_decimal_digit(c) || is_letter ||
      static_cast<unsigned char>(c) > 0x7E)
    throw base::usage_error("{} '{}': give one character{}; quotes, digits and letters are not allowed",
                            option, text, option == "sep" ? ", or the word tab" : "");
  return c;
}

/// The dialect given by the options, with NUL for characters that are not given.
CsvDialect asked_of(const TableOptions& options) {
  CsvDialect asked{.separator = character_of("sep", options.sep),
                   .decimal = character_of("dec", options.dec),
                   .comment = character_of("comment", options.comment)};
  if (asked.decimal != '\0' && asked.decimal != '.' && asked.decimal != ',')
    throw base::usage_error("dec '{}': give '.' or ','", options.dec);
  if (asked.separator == '.' || asked.separator == '-' || asked.separator == '+')
    throw base::usage_error("sep '{}': this character occurs in numbers: give another character",
                            options.sep);
  for (const auto& [one, other, names] : {std::tuple{asked.separator, asked.decimal, "sep and dec"},
                                          std::tuple{asked.separator, asked.comment, "sep and comment"},
                                          std::tuple{asked.decimal, asked.comment, "dec and comment"}}) {
    if (one != '\0' && one == other)
      throw base::usage_error("{} are both '{}': give different characters", names, one);
  }
  if (asked.comment == ' ' || asked.comment == '\t')
    throw base::usage_error("comment '{}': give a character other than a blank", options.comment);
  if (options.skip < 0)
    throw base::usage_error("skip is {}: give a number of lines of at least 0", options.skip);
  return asked;
}

/// Number of separators of each kind outside quotes.
Counts separators_in(std::string_view row) {
  Counts counts{};
  bool inside = false;
  for (const char c : row) {
    if (c == '"') inside = !inside;
    if (inside) continue;
    for (std::size_t s = 0; s < separators.size(); ++s) counts[s] += c == separators[s].character ? 1 : 0;
  }
  return counts;
}

template <class Use>
void for_first_rows(ByteSource& source, const std::string& path, std::size_t buffer_bytes,
                    std::int64_t offset, const CsvDialect& dialect, const Use& use) {
  CsvRowReader reader(source, path, buffer_bytes, offset, 1, dialect);
  for (std::size_t row = 0; row <= rows_to_judge_by && reader.next_offset() - offset < bytes_to_judge_by;
       ++row) {
    if (!reader.next()) return;
    use(reader);
  }
}

/// The first separator that gives all rows the same number of fields; null if there is none.
const Separator* common_separator(const std::vector<Counts>& rows, char decimal) {
  for (std::size_t s = 0; s < separators.size() && !rows.empty(); ++s) {
    const std::size_t count = rows[0][s];
    if (count > 0 && separators[s].character != decimal &&
        std::ranges::all_of(rows, [&](const Counts& row) { return row[s] == count; }))
      return &separators[s];
  }
  return nullptr;
}

struct Commas {
  bool decimal = false;  ///< some comma is surely a decimal mark
  /// Some comma is a decimal mark or separates thousands: three digits follow.
  bool thousands = false;
  bool other = false;
};

/// `field` must have a comma.
void note_commas(std::string_view field, Commas& commas) {
  const std::string number = with_decimal_point(field);
  const std::size_t comma = field.find(',');
  if (field.find(',', comma + 1) != std::string_view::npos || comma == 0 || comma + 1 == field.size() ||
      !is_decimal_digit(field[comma - 1]) || !is_decimal_digit(field[comma + 1]) || !field_number(number)) {
    commas.other = true;
    return;
  }
  const bool negative = field[0] == '-' || field[0] == '+';
  const std::string_view whole = field.substr(negative ? 1 : 0, comma - (negative ? 1 : 0));
  const bool grouped = field.size() - comma == 4 && whole.size() <= 3 && whole[0] != '0';
  (grouped ? commas.thousands : commas.decimal) = true;
}

bool has_decimal_commas(ByteSource& source, const std::string& path, std::size_t buffer_bytes,
                        std::int64_t offset, const CsvDialect& dialect, bool header) {
  std::vector<Commas> columns;
  bool points = false;
  bool is_header = header;
  for_first_rows(source, path, buffer_bytes, offset, dialect, [&](const CsvRowReader& reader) {
    if (std::exchange(is_header, false)) return;
    std::string scratch;
    for (std::size_t column = 0; column < reader.field_ends().size(); ++column) {
      const std::string_view field = trimmed_field(reader.content(column, scratch).text);
      if (columns.size() <= column) columns.emplace_back();
      if (field.find(',') != std::string_view::npos)
        note_commas(field, columns[column]);
      else
        points = points || (field.find('.') != std::string_view::npos && field_number(field));
    }
  });
  return !points && std::ranges::any_of(columns, [&](const Commas& commas) {
    return !commas.other && (commas.decimal || (commas.thousands && dialect.separator == ';'));
  });
}

/// Ends `look` at a malformed row without an error: the reading of the table reports the row.
template <class Look>
void look_at(const Look& look) {
  try {
    look();
  } catch (const CsvFault&) {
  } catch (const Error& error) {
    if (error.code() != ErrorCode::input) throw;
  }
}

}  // namespace

FoundDialect find_dialect(ByteSource& source, const std::string& path, std::size_t buffer_bytes,
                          std::int64_t offset, const TableOptions& options) {
  const CsvDialect asked = asked_of(options);
  FoundDialect found{.dialect = asked, .words = {}};
  CsvDialect& dialect = found.dialect;
  if (asked.separator == '\0') {
    dialect.separator = ',';
    std::vector<Counts> rows;
    look_at([&] {
      for_first_rows(source, path, buffer_bytes, offset, dialect,
                     [&](const CsvRowReader& reader) { rows.push_back(separators_in(reader.row())); });
    });
    const Separator* const common = common_separator(rows, asked.decimal);
    if (common != nullptr && common->character != ',') {
      dialect.separator = common->character;
      found.words = fmt::format("{} separate the fields", common->plural);
    }
  }
  if (asked.decimal == '\0') {
    dialect.decimal = '.';
    bool commas = false;
    if (dialect.separator == ';' || dialect.separator == '\t') {
      look_at(
          [&] { commas = has_decimal_commas(source, path, buffer_bytes, offset, dialect, options.header); });
    }
    if (commas) {
      dialect.decimal = ',';
      found.words +=
          found.words.empty() ? "numbers have decimal commas" : ", and numbers have decimal commas";
    }
  }
  return found;
}

}  // namespace TESSERA_NAMESPACE::gam

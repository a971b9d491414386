// SPDX-License-Identifier: Apache-2.0
#include "gam/data/csv/csv_columns.hpp"

#include "base/errors.hpp"
#include "base/utf8.hpp"
#include "gam/data/csv/csv_tokenizer.hpp"
#include "gam/data/csv/decimal.hpp"
#include "gam/data/frame/field_parsing.hpp"
#include "gam/data/frame/frame_part.hpp"
#include "gam/data/source/known_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

/// Whether a header line has a carriage return outside quotes that is followed by text.
bool has_lone_returns(std::string_view row, const CsvDialect& dialect) {
  bool inside = false;
  for (std::size_t i = 0; i + 1 < row.size(); ++i) {
    if (row[i] == '"') inside = !inside;
    // A return before a blank or separator does not count: a file converted to CRLF twice has such returns.
    if (row[i] == '\r' && !inside && !dialect.is_blank(row[i + 1]) && row[i + 1] != dialect.separator)
      return true;
  }
  return false;
}

struct WantedField {
  std::size_t position = 0;  ///< position in a row
  std::size_t column = 0;    ///< index in the plan
  bool number = false;       ///< whether to try `read_decimal` first
  bool with_comma = false;   ///< whether to try `read_decimal_with_comma` first
};

/// Like `read_decimal`, for decimal commas; false for texts of more than 24 bytes.
[[gnu::noinline]] bool read_decimal_with_comma(std::string_view text, double& value) noexcept {
  constexpr std::size_t most_bytes = 24;
  std::array<char, most_bytes + decimal_padding> swapped{};
  if (text.size() > most_bytes) return false;
  std::ranges::transform(text, swapped.begin(), [](char c) { return c == ',' ? '.' : c == '.' ? ',' : c; });
  return read_decimal({swapped.data(), text.size()}, value);
}

/// The requested columns that the file has, in the order of the fields of a row.
std::vector<WantedField> wanted_of(const ReadPlan& plan, const CsvRows& file) {
  const bool decimal_comma = file.dialect.decimal == ',';
  std::vector<WantedField> wanted;
  for (std::size_t c = 0; c < plan.columns().size(); ++c) {
    const UsedColumn& used = plan.columns()[c];
    const std::optional<std::size_t> position = used.position_among(file.columns);
    if (!position) continue;
    const bool number = !used.text && used.dates != DateFields::all && !plan.numbers_may_be_missing();
    wanted.push_back({.position = *position,
                      .column = c,
                      .number = number && !decimal_comma,
                      .with_comma = number && decimal_comma});
  }
  std::sort(wanted.begin(), wanted.end(),
            [](const WantedField& a, const WantedField& b) { return a.position < b.position; });
  return wanted;
}

class RowScanner {
 public:
  RowScanner(const CsvRows& file, ByteReader& source, const ReadPlan& plan)
      : file_(file),
        wanted_(wanted_of(plan, file)),
        reader_(source, file.path, file.buffer_bytes, 0, 1, file.dialect) {}

  /// Passes `rows` to `part`, reading from landmark `start` on. The rows must end at byte `end` or before.
  void scan(const CsvLandmark& start, std::int64_t end, Range rows, FramePart& part) {
    part.set_decimal_comma(file_.dialect.decimal == ',');
    reader_.go_to(start.offset, start.line, end);
    for (std::int64_t row = start.row; row < rows.end; ++row) {
      if (!reader_.next())
        throw base::input_error(
            "{}: ends before row {}, because it was changed while it was read: start again with the complete "
            "file",
            file_.path, row + 1);
      if (row < rows.begin) continue;
      try {
        take_row(part);
      } catch (const CsvFault& fault) {
        throw base::input_error("{}, line {}: {}", file_.path, reader_.line(), fault.reason);
      }
    }
  }

 private:
  void take_row(FramePart& part) {
    if (!part.has_bare_field()) look_for_bare_field(part);
    const std::size_t fields = is_simple() ? take_simple_fields(part) : take_fields(part);
    if (fields != file_.columns.size()) refuse_row(fields);
    part.end_row(reader_.line());
  }

  [[noreturn]] void refuse_row(std::size_t fields) const {
    const std::size_t columns = file_.columns.size();
    throw base::input_error(
        "{}, line {}: the row has {} field{}, but the header has {}: {}", file_.path, reader_.line(), fields,
        fields == 1 ? "" : "s", columns,
        columns == 1
            ? "give both the same number of fields; the option skip leaves out lines above the header"
        : fields == columns + 1 && reader_.line() == 2
            ? "give both the same number of fields (R writes row names without a column name: add the name, "
              "or leave the row names out), and quote fields that contain separators"
            : "give both the same number of fields, and quote fields that contain separators");
  }

  void look_for_bare_field(FramePart& part) const {
    for (std::size_t i = 0; i < reader_.field_ends().size(); ++i) {
      const std::string_view text = trimmed_field(reader_.field(i));
      if (!text.empty() && text.front() != '"' && !part.plan().is_missing(text))
        return part.note_bare_field();
    }
  }

  /// Whether every quote of the row encloses a whole field.
  [[nodiscard]] bool is_simple() const {
    std::size_t quotes = reader_.quotes();
    for (std::size_t i = 0; quotes > 0 && i < reader_.field_ends().size(); ++i) {
      const std::string_view text = reader_.field(i);
      if (!text.starts_with('"')) continue;
      if (text.size() < 2 || text.back() != '"' || quotes < 2) return false;
      quotes -= 2;
    }
    return quotes == 0;
  }

  /// For a row that `is_simple`.
  std::size_t take_simple_fields(FramePart& part) {
    const std::size_t fields = reader_.field_ends().size();
    const bool quotes = reader_.quotes() > 0;
    for (const WantedField& wanted : wanted_) {
      if (wanted.position >= fields) break;
      const std::string_view text = reader_.field(wanted.position);
      if (quotes && text.starts_with('"'))
        part.set_field(wanted.column, text.substr(1, text.size() - 2), true, reader_.line());
      else
        take_plain_field(wanted, text, part);
    }
    return fields;
  }

  /// For any row. Checks every field, because any field may have misplaced quotes.
  std::size_t take_fields(FramePart& part) {
    const std::size_t fields = reader_.field_ends().size();
    auto wanted = wanted_.begin();
    for (std::size_t position = 0; position < fields; ++position) {
      const CsvField field = reader_.content(position, scratch_);
      // A column may be requested twice, by x and by factor(x).
      for (; wanted != wanted_.end() && wanted->position == position; ++wanted) {
        if (field.quoted)
          part.set_field(wanted->column, field.text, true, reader_.line());
        else
          take_plain_field(*wanted, field.text, part);
      }
    }
    return fields;
  }

  // Inlining keeps the constants of the number parser in registers in the loop over fields.
  [[gnu::always_inline]] void take_plain_field(const WantedField& wanted, std::string_view text,
                                               FramePart& part) const {
    double value = 0;
    if (wanted.number && read_decimal(text, value))
      part.set_number(wanted.column, value);
    else if (wanted.with_comma && read_decimal_with_comma(text, value))
      part.set_number(wanted.column, value);
    else
      part.set_field(wanted.column, text, false, reader_.line());
  }

  const CsvRows& file_;
  std::vector<WantedField> wanted_;
  CsvRowReader reader_;
  std::string scratch_;
};

/// A run is the rows between two landmarks or, without random access, all rows.
class CsvScan final : public RowScan {
 public:
  CsvScan(const CsvRows& file, const ReadPlan& plan, int threads)
      : file_(file), plan_(plan), in_order_(file.source.for_another_thread() == nullptr) {
    for (int thread = 0; thread < threads && !in_order_; ++thread)
      sources_.push_back(file.source.for_another_thread());
    scanners_.resize(static_cast<std::size_t>(threads));
  }

  [[nodiscard]] bool in_order() const override { return in_order_; }

  [[nodiscard]] std::vector<Range> runs(Range rows) override {
    if (rows.empty()) return {};
    if (in_order_) return {rows};
    const std::vector<CsvLandmark>& marks = file_.index.landmarks;
    std::vector<Range> runs;
    for (std::size_t mark = file_.index.before(rows.begin); mark < marks.size() && marks[mark].row < rows.end;
         ++mark) {
      if (!runs.empty()) runs.back().end = marks[mark].row;
      runs.push_back({std::max(rows.begin, marks[mark].row), rows.end});
    }
    return runs;
  }

  void prepare(std::span<const Range> /*runs*/) override {
    if (file_.between && !in_order_) file_.between();
  }

  void read(int thread, Range run, FramePart& part) override {
    const auto own = static_cast<std::size_t>(thread);
    if (!scanners_[own])
      scanners_[own] = std::make_unique<RowScanner>(
          file_, in_order_ ? static_cast<ByteReader&>(file_.source) : *sources_[own], plan_);
    const std::vector<CsvLandmark>& marks = file_.index.landmarks;
    const std::size_t behind = file_.index.before(run.end - 1) + 1;
    const std::int64_t end =
        in_order_ || behind == marks.size() ? std::numeric_limits<std::int64_t>::max() : marks[behind].offset;
    scanners_[own]->scan(marks[file_.index.before(run.begin)], end, run, part);
  }

 private:
  CsvRows file_;
  const ReadPlan& plan_;
  bool in_order_;
  std::vector<std::unique_ptr<ByteReader>> sources_;  // one per thread
  std::vector<std::unique_ptr<RowScanner>> scanners_;
};

void read_names(const CsvRowReader& reader, const std::string& path, CsvHeader& header) {
  std::string scratch;
  std::set<std::string> known;
  try {
    for (std::size_t i = 0; i < reader.field_ends().size(); ++i) {
      const CsvField field = reader.content(i, scratch);
      header.columns.emplace_back(trimmed_field(field.text));
      const std::string& name = header.columns.back();
      header.quotes += field.quoted || name.empty() ? '"' : ' ';
      if (!base::is_utf8(name))
        throw base::input_error("{}, line {}: the name of column {} is not UTF-8: {}", path, reader.line(),
                                header.columns.size(), base::how_to_utf8);
      if (!name.empty() && !known.insert(name).second)
        throw base::input_error("{}, line {}: two columns have the name '{}': rename one", path,
                                reader.line(), name);
    }
  } catch (const CsvFault& fault) {
    throw base::input_error("{}, line {}: {}", path, reader.line(), fault.reason);
  }
  header.data_offset = reader.next_offset();
  header.data_line = reader.next_line();
}

/// Names the columns V1, V2, …, as R does for files without a header.
void make_names(const CsvRowReader& reader, CsvHeader& header) {
  for (std::size_t column = 1; column <= reader.field_ends().size(); ++column)
    header.columns.push_back(fmt::format("V{}", column));
  header.quotes.assign(header.columns.size(), ' ');
  header.data_offset = reader.row_offset();
  header.data_line = reader.line();
}

}  // namespace

CsvHeader read_csv_header(ByteSource& source, const std::string& path, std::size_t buffer_bytes,
                          const TableOptions& options) {
  std::array<char, first_bytes> bytes{};
  source.seek(0);
  const std::string_view first(bytes.data(), source.read(bytes));
  refuse_other_files(first, path);
  const bool marked = first.starts_with(byte_order_mark);
  CsvRowReader beginning(source, path, buffer_bytes,
                         marked ? static_cast<std::int64_t>(byte_order_mark.size()) : 0, 1);
  for (std::int64_t line = 0; line < options.skip; ++line) {
    if (!beginning.skip_line())
      throw base::input_error("{}: has no line after the {} skipped lines: reduce skip", path, options.skip);
  }
  CsvHeader header;
  const std::int64_t begin = beginning.next_offset();
  FoundDialect found = find_dialect(source, path, buffer_bytes, begin, options);
  header.dialect = found.dialect;
  header.dialect_words = std::move(found.words);

  CsvRowReader reader(source, path, buffer_bytes, begin, beginning.next_line(), header.dialect);
  if (!reader.next())
    throw base::input_error("{}: the file is empty: give a table with a header and rows", path);
  if (reader.row().find('\0') != std::string_view::npos)
    throw base::input_error(
        "{}: cannot be read as a table, because its first line has a NUL byte: give CSV in UTF-8, plain or "
        "in gzip, or HDF5",
        path);

  if (has_lone_returns(reader.row(), header.dialect))
    throw base::input_error(
        "{}, line {}: lines end in bare carriage returns, as on old Macs: convert them to newlines (tr '\\r' "
        "'\\n')",
        path, reader.line());
  if (reader.field_ends().size() > max_columns)
    throw base::input_error("{}, line {}: the header has more than {} columns, the maximum: split the table",
                            path, reader.line(), max_columns);
  if (options.header)
    read_names(reader, path, header);
  else
    make_names(reader, header);
  return header;
}

std::unique_ptr<RowScan> scan_csv(const CsvRows& file, const ReadPlan& plan, int threads) {
  return std::make_unique<CsvScan>(file, plan, threads);
}

}  // namespace TESSERA_NAMESPACE::gam

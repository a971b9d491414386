// SPDX-License-Identifier: Apache-2.0
#include "gam/table/csv_scan.hpp"

#include "base/utf8.hpp"
#include "gam/table/csv_rows.hpp"

#include <tessera/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace tessera::gam {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

/// True if a line of a header goes on behind a carriage return that no newline follows.
bool has_lone_returns(std::string_view row) {
  bool inside = false;
  for (std::size_t i = 0; i + 1 < row.size(); ++i) {
    if (row[i] == '"') inside = !inside;
    // Before blanks and commas it counts for nothing, as those of a file whose newlines were made CRLF twice.
    if (row[i] == '\r' && !inside && std::string_view("\r \t,").find(row[i + 1]) == std::string_view::npos)
      return true;
  }
  return false;
}

/// The columns that are wanted, as they come in a row.
std::vector<std::size_t> order_of(const std::vector<UsedColumn>& used) {
  std::vector<std::size_t> order(used.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return used[a].position < used[b].position; });
  return order;
}

/// What one thread reads a file through.
class RowScanner {
 public:
  RowScanner(const CsvRows& file, ByteSource& source, const ReadPlan& plan)
      : file_(file),
        order_(order_of(plan.columns())),
        numbers_may_be_missing_(plan.numbers_may_be_missing()),
        reader_(source, file.path, file.buffer_bytes, 0, 1) {}

  /// Hands over rows that begin at a landmark or behind it, and end before the byte `end` or where the file
  /// does.
  void scan(const CsvLandmark& start, std::int64_t end, Range rows, FramePart& part) {
    reader_.go_to(start.offset, start.line, end);
    for (std::int64_t row = start.row; row < rows.end; ++row) {
      if (!reader_.next())
        throw Error(ErrorCode::input, fmt::format("{}: ended before row {}; did it change while it was read?",
                                                  file_.path, row + 1));
      if (row < rows.begin) continue;
      try {
        take_row(part);
      } catch (const CsvFault& fault) {
        throw Error(ErrorCode::input,
                    fmt::format("{}, line {}: {}", file_.path, reader_.line(), fault.reason));
      }
    }
  }

 private:
  void take_row(FramePart& part) {
    const int fields = reader_.has_quotes() ? take_fields(part) : take_plain_fields(part);
    if (static_cast<std::size_t>(fields) != file_.columns)
      throw Error(ErrorCode::input,
                  fmt::format("{}, line {}: {} field{} where the header has {}", file_.path, reader_.line(),
                              fields, fields == 1 ? "" : "s", file_.columns));
    part.end_row(reader_.line());
  }

  /// Returns how many there are, as the next does.
  int take_fields(FramePart& part) {
    const std::vector<UsedColumn>& used = part.plan().columns();
    CsvFields fields(reader_);
    int position = 0;
    for (const std::size_t column : order_) {
      for (; position < used[column].position && fields.more(); ++position) fields.skip();
      if (!fields.more()) break;
      ++position;
      const CsvField field = fields.field(scratch_);
      if (field.quoted)
        part.set_field(column, field.text, true, reader_.line());
      else
        take_plain_field(column, field.text, part);
    }
    for (; fields.more(); ++position) fields.skip();
    return position;
  }

  /// Of a row without quotes: where its fields end is known before the first is looked at, so that the
  /// processor works on several at a time.
  int take_plain_fields(FramePart& part) {
    const std::vector<UsedColumn>& used = part.plan().columns();
    const std::string_view row = reader_.row();
    ends_.clear();
    append_commas(row, ends_);
    ends_.push_back(row.size());
    for (const std::size_t column : order_) {
      const auto position = static_cast<std::size_t>(used[column].position);
      if (position >= ends_.size()) break;
      const std::size_t begin = position == 0 ? 0 : ends_[position - 1] + 1;
      take_plain_field(column, row.substr(begin, ends_[position] - begin), part);
    }
    return static_cast<int>(ends_.size());
  }

  void take_plain_field(std::size_t column, std::string_view text, FramePart& part) const {
    double value = 0;
    if (!part.plan().columns()[column].text && !numbers_may_be_missing_ && is_plain_number(text, value))
      part.set_number(column, value);
    else
      part.set_field(column, text, false, reader_.line());
  }

  const CsvRows& file_;
  std::vector<std::size_t> order_;
  bool numbers_may_be_missing_;
  CsvRowReader reader_;
  std::string scratch_;
  std::vector<std::size_t> ends_;  // of the fields of a row
};

/// Rows from one landmark to the next, by the threads of the team.
void scan_by_landmarks(const CsvRows& file, Range rows, FrameBuilder& builder) {
  const std::vector<CsvLandmark>& marks = file.index.landmarks;
  const std::size_t first = file.index.before(rows.begin);
  std::vector<Range> runs;
  for (std::size_t mark = first; mark < marks.size() && marks[mark].row < rows.end; ++mark)
    runs.push_back({std::max(rows.begin, marks[mark].row),
                    mark + 1 < marks.size() ? std::min(rows.end, marks[mark + 1].row) : rows.end});
  std::vector<std::unique_ptr<ByteSource>> sources;
  sources.reserve(static_cast<std::size_t>(builder.team().size()));
  for (int thread = 0; thread < builder.team().size(); ++thread)
    sources.push_back(file.source.for_another_thread());
  std::vector<std::optional<RowScanner>> scanners(sources.size());
  builder.read(runs, file.between, [&](int thread, std::size_t run, FramePart& part) {
    const auto own = static_cast<std::size_t>(thread);
    if (!scanners[own]) scanners[own].emplace(file, *sources[own], builder.plan());
    const std::size_t mark = first + run;
    const std::int64_t end =
        mark + 1 < marks.size() ? marks[mark + 1].offset : std::numeric_limits<std::int64_t>::max();
    scanners[own]->scan(marks[mark], end, runs[run], part);
  });
}

}  // namespace

CsvHeader read_csv_header(ByteSource& source, const std::string& path, std::size_t buffer_bytes) {
  std::array<char, byte_order_mark.size()> first{};
  source.seek(0);
  const std::size_t got = source.read(first);
  const bool marked = std::string_view(first.data(), got) == byte_order_mark;
  CsvRowReader reader(source, path, buffer_bytes,
                      marked ? static_cast<std::int64_t>(byte_order_mark.size()) : 0, 1);
  if (!reader.next()) throw Error(ErrorCode::input, fmt::format("{}: the file is empty", path));
  if (reader.row().find('\0') != std::string_view::npos)
    throw Error(ErrorCode::input, fmt::format("{}: neither CSV in ASCII or UTF-8, nor HDF5", path));

  if (has_lone_returns(reader.row()))
    throw Error(ErrorCode::input,
                fmt::format("{}, line {}: lines end in carriage returns alone, as those of old Macs: make "
                            "newlines of them (tr '\\r' '\\n')",
                            path, reader.line()));

  CsvHeader header;
  std::string scratch;
  std::set<std::string> known;
  try {
    for (CsvFields fields(reader); fields.more();) {
      if (header.columns.size() == max_columns)
        throw Error(ErrorCode::input,
                    fmt::format("{}, line {}: more than the {} columns that a table may have", path,
                                reader.line(), max_columns));
      header.columns.emplace_back(trimmed(fields.field(scratch).text));
      const std::string& name = header.columns.back();
      if (!base::is_utf8(name))
        throw Error(ErrorCode::input, fmt::format("{}, line {}: the name of column {} is not UTF-8: {}", path,
                                                  reader.line(), header.columns.size(), base::how_to_utf8));
      if (!name.empty() && !known.insert(name).second)
        throw Error(ErrorCode::input,
                    fmt::format("{}, line {}: two columns have the name '{}'", path, reader.line(), name));
    }
  } catch (const CsvFault& fault) {
    throw Error(ErrorCode::input, fmt::format("{}, line {}: {}", path, reader.line(), fault.reason));
  }
  header.data_offset = reader.next_offset();
  header.data_line = reader.next_line();
  return header;
}

void scan_csv(const CsvRows& file, Range rows, FrameBuilder& builder) {
  if (rows.empty()) return;
  if (file.source.for_another_thread() != nullptr) return scan_by_landmarks(file, rows, builder);
  RowScanner scanner(file, file.source, builder.plan());
  builder.read(rows, [&](FramePart& part) {
    scanner.scan(file.index.landmarks[file.index.before(rows.begin)],
                 std::numeric_limits<std::int64_t>::max(), rows, part);
  });
}

}  // namespace tessera::gam

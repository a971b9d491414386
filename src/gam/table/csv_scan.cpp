// SPDX-License-Identifier: Apache-2.0
#include "gam/table/csv_scan.hpp"

#include "base/utf8.hpp"
#include "gam/table/csv_rows.hpp"

#include <tessera/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <span>
#include <string_view>

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

/// Hands one row to a part: its columns that are wanted, which come in this order.
void take_row(const CsvRowReader& reader, const std::string& path, std::size_t columns,
              std::span<const std::size_t> order, std::string& scratch, FramePart& part) {
  const std::vector<UsedColumn>& used = part.plan().columns();
  CsvFields fields(reader.row(), reader.has_quotes());
  int position = 0;
  for (const std::size_t column : order) {
    for (; position < used[column].position && fields.more(); ++position) fields.skip();
    if (!fields.more()) break;
    ++position;
    if (!used[column].text && !part.plan().numbers_may_be_missing()) {
      if (const auto value = fields.number()) {
        part.set_number(column, *value);
        continue;
      }
    }
    const CsvField field = fields.field(scratch);
    part.set_field(column, field.text, field.quoted, reader.line());
  }
  for (; fields.more(); ++position) fields.skip();
  if (static_cast<std::size_t>(position) != columns)
    throw Error(ErrorCode::input, fmt::format("{}, line {}: {} field{} where the header has {}", path,
                                              reader.line(), position, position == 1 ? "" : "s", columns));
  part.end_row(reader.line());
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
    for (CsvFields fields(reader.row(), reader.has_quotes()); fields.more();) {
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

void scan_csv(ByteSource& source, const std::string& path, std::size_t buffer_bytes, std::size_t columns,
              const CsvIndex& index, Range rows, FrameBuilder& builder) {
  if (rows.empty()) return;
  const std::vector<UsedColumn>& used = builder.plan().columns();
  std::vector<std::size_t> order(used.size());  // the columns that are wanted, as they come in a row
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return used[a].position < used[b].position; });

  const CsvLandmark& start = index.before(rows.begin);
  CsvRowReader reader(source, path, buffer_bytes, start.offset, start.line);
  std::string scratch;
  builder.read(rows, [&](FramePart& part) {
    for (std::int64_t row = start.row; row < rows.end; ++row) {
      if (!reader.next())
        throw Error(ErrorCode::input,
                    fmt::format("{}: ended before row {}; did it change while it was read?", path, row + 1));
      if (row < rows.begin) continue;
      try {
        take_row(reader, path, columns, order, scratch, part);
      } catch (const CsvFault& fault) {
        throw Error(ErrorCode::input, fmt::format("{}, line {}: {}", path, reader.line(), fault.reason));
      }
    }
  });
}

}  // namespace tessera::gam

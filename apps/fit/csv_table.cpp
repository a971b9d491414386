// SPDX-License-Identifier: Apache-2.0
#include "csv_table.hpp"

#include "byte_source.hpp"
#include "csv_index.hpp"
#include "csv_rows.hpp"
#include "frame_builder.hpp"
#include "shared_input.hpp"
#include "utf8.hpp"

#include <tessera/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

namespace tessera::fit {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

/// What rank 0 learns from the first row.
struct Header {
  std::vector<std::string> columns;
  std::int64_t data_offset = 0;
  std::int64_t data_line = 1;
  std::int64_t file_bytes = 0;
};

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

Header read_header(ByteSource& source, const std::string& path, const CsvOptions& options) {
  std::array<char, byte_order_mark.size()> first{};
  source.seek(0);
  const std::size_t got = source.read(first);
  const bool marked = std::string_view(first.data(), got) == byte_order_mark;
  CsvRowReader reader(source, path, options.buffer_bytes,
                      marked ? static_cast<std::int64_t>(byte_order_mark.size()) : 0, 1);
  if (!reader.next()) throw Error(ErrorCode::input, fmt::format("{}: the file is empty", path));
  if (reader.row().find('\0') != std::string_view::npos)
    throw Error(ErrorCode::input, fmt::format("{}: neither CSV in ASCII or UTF-8, nor HDF5", path));

  if (has_lone_returns(reader.row()))
    throw Error(ErrorCode::input,
                fmt::format("{}, line {}: lines end in carriage returns alone, as those of old Macs: make "
                            "newlines of them (tr '\\r' '\\n')",
                            path, reader.line()));

  Header header;
  std::string scratch;
  std::set<std::string> known;
  try {
    for (CsvFields fields(reader.row(), reader.has_quotes()); fields.more();) {
      if (header.columns.size() == most_columns)
        throw Error(ErrorCode::input,
                    fmt::format("{}, line {}: more than the {} columns that a table may have", path,
                                reader.line(), most_columns));
      header.columns.emplace_back(trimmed(fields.field(scratch).text));
      const std::string& name = header.columns.back();
      if (!is_utf8(name))
        throw Error(ErrorCode::input, fmt::format("{}, line {}: the name of column {} is not UTF-8: {}", path,
                                                  reader.line(), header.columns.size(), how_to_utf8));
      if (!name.empty() && !known.insert(name).second)
        throw Error(ErrorCode::input,
                    fmt::format("{}, line {}: two columns have the name '{}'", path, reader.line(), name));
    }
  } catch (const CsvFault& fault) {
    throw Error(ErrorCode::input, fmt::format("{}, line {}: {}", path, reader.line(), fault.reason));
  }
  header.data_offset = reader.next_offset();
  header.data_line = reader.next_line();
  if (!options.gzip) header.file_bytes = source.file().size();
  return header;
}

class CsvTable final : public TableReader {
 public:
  CsvTable(std::string path, CsvOptions options, std::unique_ptr<ByteSource> source, SharedTable shared,
           std::vector<std::string> columns, CsvIndex index)
      : path_(std::move(path)),
        options_(std::move(options)),
        source_(std::move(source)),
        shared_(shared),
        columns_(std::move(columns)),
        index_(std::move(index)) {}

  [[nodiscard]] std::int64_t rows() const override { return index_.rows; }
  [[nodiscard]] std::vector<std::string> columns() const override { return columns_; }
  [[nodiscard]] apps::FileState opened() const override { return shared_.opened(); }
  [[nodiscard]] std::int64_t bytes_read() const override { return source_->bytes_read(); }

  [[nodiscard]] Frame read(const tessera::mpi::Communicator& comm, const FrameRequest& request,
                           tessera::Range rows) override {
    return shared_.read(comm, [&] {
      return read_frame(comm, ReadPlan(request, columns_, path_), rows, index_.rows, "line",
                        [this](tessera::Range part, FrameBuilder& builder) { scan(part, builder); });
    });
  }

 private:
  void scan(tessera::Range rows, FrameBuilder& builder);
  void parse(const CsvRowReader& reader, FrameBuilder& builder, std::span<const std::size_t> order);

  std::string path_;
  CsvOptions options_;
  std::unique_ptr<ByteSource> source_;
  SharedTable shared_;  // refers to the file of the source
  std::vector<std::string> columns_;
  CsvIndex index_;
  std::string scratch_;
};

void CsvTable::scan(tessera::Range rows, FrameBuilder& builder) {
  if (rows.empty()) return;
  const std::vector<UsedColumn>& used = builder.plan().columns();
  std::vector<std::size_t> order(used.size());  // the columns that are wanted, as they come in a row
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return used[a].place < used[b].place; });

  const CsvLandmark& start = index_.before(rows.begin);
  CsvRowReader reader(*source_, path_, options_.buffer_bytes, start.offset, start.line);
  for (std::int64_t row = start.row; row < rows.end; ++row) {
    if (!reader.next())
      throw Error(ErrorCode::input,
                  fmt::format("{}: ended before row {}; did it change while it was read?", path_, row + 1));
    if (row < rows.begin) continue;
    try {
      parse(reader, builder, order);
    } catch (const CsvFault& fault) {
      throw Error(ErrorCode::input, fmt::format("{}, line {}: {}", path_, reader.line(), fault.reason));
    }
  }
}

void CsvTable::parse(const CsvRowReader& reader, FrameBuilder& builder, std::span<const std::size_t> order) {
  const std::vector<UsedColumn>& used = builder.plan().columns();
  CsvFields fields(reader.row(), reader.has_quotes());
  int place = 0;
  for (const std::size_t column : order) {
    for (; place < used[column].place && fields.more(); ++place) fields.skip();
    if (!fields.more()) break;
    ++place;
    if (!used[column].text && !builder.plan().numbers_may_be_missing()) {
      if (const auto value = fields.number()) {
        builder.set_number(column, *value);
        continue;
      }
    }
    const CsvField field = fields.field(scratch_);
    builder.set_field(column, field.text, field.quoted, reader.line());
  }
  for (; fields.more(); ++place) fields.skip();
  if (static_cast<std::size_t>(place) != columns_.size())
    throw Error(ErrorCode::input, fmt::format("{}, line {}: {} field{} where the header has {}", path_,
                                              reader.line(), place, place == 1 ? "" : "s", columns_.size()));
  builder.end_row(reader.line());
}

/// What a table is known by once it is open.
struct Outline {
  std::vector<std::string> columns;
  CsvIndex index;
};

/// *Collective.* Counts the rows.
Outline read_outline(const tessera::mpi::Communicator& comm, ByteSource& source, const std::string& path,
                     const CsvOptions& options) {
  Header header;
  together(comm, [&] {
    if (comm.rank() == 0) header = read_header(source, path, options);
  });
  header.columns = unpack(comm.broadcast_text(pack(header.columns), 0));
  std::array<std::int64_t, 3> places{header.data_offset, header.data_line, header.file_bytes};
  comm.broadcast(std::span<std::int64_t>(places), 0);
  const auto [data, line, file_bytes] = places;

  // About 65,000 landmarks over all ranks at most, and no more than a step of reading between two.
  const std::int64_t spacing = options.landmark_bytes > 0
                                   ? options.landmark_bytes
                                   : std::max(std::int64_t{1} << 18, file_bytes / (std::int64_t{1} << 16));
  CsvPart part;
  part.first_line = line;
  if (options.gzip) {
    part.begin = data;
    part.end = comm.rank() == 0 ? std::numeric_limits<std::int64_t>::max() : data;
  } else {
    const std::int64_t bytes = std::max<std::int64_t>(0, file_bytes - data);
    const Plan parts = Plan::over_hosts(bytes, comm.size());
    const Range mine = parts.range_of(comm.rank());
    part.begin = data + mine.begin;
    part.end = data + mine.end;
  }
  CsvIndex index = index_csv(comm, source, part, options.buffer_bytes, spacing);
  if (index.rows == 0)
    throw Error(ErrorCode::input, fmt::format("{}: there is a header, but no row of data", path));
  return {std::move(header.columns), std::move(index)};
}

}  // namespace

std::unique_ptr<TableReader> open_csv(const tessera::mpi::Communicator& comm, const std::string& path,
                                      const CsvOptions& options) {
  std::unique_ptr<ByteSource> source;
  together(comm, [&] {
    source = options.gzip ? open_gzip(path, options.between) : open_plain(path, options.between);
  });
  const SharedTable shared(comm, source->file(), options.between);
  Outline outline = shared.read(comm, [&] { return read_outline(comm, *source, path, options); });
  return std::make_unique<CsvTable>(path, options, std::move(source), shared, std::move(outline.columns),
                                    std::move(outline.index));
}

}  // namespace tessera::fit

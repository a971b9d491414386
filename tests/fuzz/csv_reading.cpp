// SPDX-License-Identifier: Apache-2.0
#include "csv_reading.hpp"

#include "fuzz_target.hpp"
#include "gam/data/csv/csv_columns.hpp"
#include "gam/data/csv/csv_index.hpp"
#include "gam/data/csv/csv_tokenizer.hpp"
#include "gam/data/frame/frame_builder.hpp"

#include <algorithm>
#include <span>

namespace tessera::fuzz {
namespace {

using namespace tessera::gam;

constexpr const char* name = "a.csv";
constexpr std::size_t used_columns = 4;

/// Both are started when they first have work.
HostTeam one_thread(1);
HostTeam three_threads(3);

CsvIndex index_of(ByteSource& source, const CsvHeader& header, std::int64_t file_bytes,
                  const CsvDivision& division) {
  if (header.dialect.comment != '\0') {
    CsvRowReader reader(source, name, division.buffer_bytes, header.data_offset, header.data_line,
                        header.dialect);
    return index_of_rows(reader, division.landmark_bytes);
  }
  std::vector<std::int64_t> ends;
  for (const std::int64_t cut : division.cuts)
    ends.push_back(std::clamp(cut, header.data_offset, file_bytes));
  ends.push_back(file_bytes);
  std::vector<CsvPartScanner> scanners;
  std::vector<CsvPartSummary> summaries;
  std::vector<char> buffer(division.buffer_bytes);
  for (std::int64_t begin = header.data_offset; const std::int64_t end : ends) {
    // As in `index_csv`: the start of the first part is the start of a line.
    CsvPartScanner scanner(begin, division.landmark_bytes, begin == header.data_offset, header.dialect);
    source.seek(begin);
    for (std::int64_t at = begin; at < end;) {
      const auto wanted = static_cast<std::size_t>(std::min(std::ssize(buffer), end - at));
      const std::size_t got = source.read(std::span(buffer).first(wanted));
      if (got == 0) break;
      scanner.feed({buffer.data(), got});
      at += static_cast<std::int64_t>(got);
    }
    summaries.push_back(scanner.summary());
    scanners.push_back(std::move(scanner));
    begin = std::max(begin, end);
  }
  CsvIndex index;
  for (std::size_t i = 0; i < scanners.size(); ++i) {
    CsvStarts starts = located({&scanners[i], 1}, summaries, i, header.data_line);
    index.rows = starts.rows;
    index.landmarks.insert(index.landmarks.end(), starts.landmarks.begin(), starts.landmarks.end());
  }
  return index;
}

void check_index(const CsvIndex& index, std::int64_t file_bytes) {
  if (index.rows == 0) return;
  require(!index.landmarks.empty() && index.landmarks[0].row == 0, "a landmark at the first row");
  for (std::size_t i = 0; i < index.landmarks.size(); ++i) {
    const CsvLandmark& mark = index.landmarks[i];
    require(mark.offset >= 0 && mark.offset < file_bytes && mark.row < index.rows, "a landmark in the file");
    require(i == 0 || index.landmarks[i - 1].row <= mark.row, "landmarks in order");
  }
}

/// The rows of a range, each with its line and its fields.
void read_fields(ByteSource& source, const CsvIndex& index, Range rows, std::size_t buffer_bytes,
                 const CsvDialect& dialect, CsvReading& reading) {
  const CsvLandmark& start = index.landmarks[index.before(rows.begin)];
  CsvRowReader reader(source, name, buffer_bytes, start.offset, start.line, dialect);
  std::string scratch;
  for (std::int64_t row = start.row; row < rows.end; ++row) {
    require(reader.next(), "as many rows as were counted");
    if (row < rows.begin) continue;
    std::string fields = std::to_string(reader.line());
    try {
      for (std::size_t i = 0; i < reader.field_ends().size(); ++i) {
        const CsvField field = reader.content(i, scratch);
        fields += field.quoted ? "\n\"" : "\n";
        fields += field.text;
      }
    } catch (const CsvFault& fault) {
      fields += fault.reason;
    }
    reading.fields.push_back(std::move(fields));
  }
}

void read_rows(ByteSource& source, const CsvDivision& division, CsvReading& reading,
               std::int64_t file_bytes) {
  const CsvHeader header = read_csv_header(source, name, division.buffer_bytes, division.options);
  reading.columns = header.columns;
  const CsvIndex index = index_of(source, header, file_bytes, division);
  check_index(index, file_bytes);
  reading.rows = index.rows;
  if (index.rows == 0) throw Error(ErrorCode::input, "no row");

  FrameRequest request;
  for (const std::string& column : header.columns)
    if (!column.empty() && request.variables.size() < used_columns)
      request.variables.push_back(column_expression(column));
  ReadPlan plan(request, header.columns, name);
  for (std::size_t i = 0; i < plan.columns().size(); ++i) plan.column(i).text = division.text;
  reading.counts.assign(4 * plan.columns().size(), 0);

  const std::string path = name;
  const auto ranks = static_cast<int>(division.cuts.size()) + 1;
  const Plan ranges = Plan::over_hosts(index.rows, ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    const Range rows = ranges.range_of(rank);
    if (rows.empty()) continue;
    HostTeam& team = division.threads > 1 ? three_threads : one_thread;
    FrameBuilder builder(plan, rows, team);
    builder.read(*scan_csv({source, path, header.columns, header.dialect, index, division.buffer_bytes, {}},
                           plan, team.size()));
    const std::vector<FieldCounts> met = builder.counts();
    for (std::size_t i = 0; i < met.size(); ++i) {
      const std::int64_t all[] = {met[i].numbers, met[i].texts, met[i].missing, met[i].blank};
      for (std::size_t k = 0; k < 4; ++k) reading.counts[4 * i + k] += all[k];
    }
  }
  for (int rank = 0; rank < ranks; ++rank) {
    const Range rows = ranges.range_of(rank);
    if (!rows.empty()) read_fields(source, index, rows, division.buffer_bytes, header.dialect, reading);
  }
}

}  // namespace

CsvReading read_csv(ByteSource& source, std::int64_t file_bytes, const CsvDivision& division) {
  CsvReading reading;
  if (auto fault = refusal([&] { read_rows(source, division, reading, file_bytes); },
                           {ErrorCode::input, ErrorCode::usage})) {
    // The part before a fault depends on the division; the fault itself does not.
    reading = {};
    reading.fault = std::move(*fault);
  }
  return reading;
}

std::vector<std::int64_t> take_cuts(std::string_view& input, CsvDivision& whole) {
  whole.buffer_bytes = 8 + take_byte(input) % 64;
  whole.landmark_bytes = 1 + take_byte(input) % 64;
  const unsigned first = take_byte(input);
  const unsigned second = take_byte(input);
  if (input.starts_with('\n')) input.remove_prefix(1);
  const auto bytes = static_cast<std::int64_t>(input.size());
  std::vector<std::int64_t> cuts{bytes * (first % 97) / 97, bytes * (second % 97) / 97};
  std::sort(cuts.begin(), cuts.end());
  return cuts;
}

CsvReading read_alike(ByteSource& source, std::int64_t file_bytes, const CsvDivision& whole,
                      const std::vector<std::int64_t>& cuts) {
  CsvReading reading = read_csv(source, file_bytes, whole);
  CsvDivision parts = whole;
  parts.cuts = cuts;
  require(read_csv(source, file_bytes, parts) == reading, "three parts are read as one:", reading.fault);
  parts.threads = 3;
  require(read_csv(source, file_bytes, parts) == reading, "threads read what one does:", reading.fault);
  return reading;
}

}  // namespace tessera::fuzz

// SPDX-License-Identifier: Apache-2.0
#include "gam/table/csv_index.hpp"

#include "gam/table/csv_rows.hpp"
#include "gam/table/frame.hpp"

#include <tessera/job/together.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace tessera::gam {
namespace {

/// Where a part begins: inside quotes or not, with a line under way or not, and what came before.
struct PartStart {
  bool inside = false;
  bool content = false;
  std::int64_t row = 0;
  std::int64_t line = 1;

  /// True if the part's first counted row only goes on with a row of the part before.
  [[nodiscard]] bool continues(bool leading_content) const { return !inside && content && leading_content; }

  void pass(const CsvPartSummary& part) {
    const std::size_t h = inside ? 1 : 0;
    row += part.rows[h] - (continues(part.leading_content != 0) ? 1 : 0);
    line += part.newlines;
    content = part.content[h] != 0 || (content && part.line_ends[h] == 0);
    inside = inside != (part.odd_quotes != 0);
  }
};

}  // namespace

CsvPartScanner::CsvPartScanner(std::int64_t begin, std::int64_t spacing_bytes, bool at_line)
    : begin_(begin), spacing_(spacing_bytes), position_(begin), next_landmark_{begin, begin} {
  if (at_line) counts_[0].line_begin = begin;
  counts_[1].content = true;  // an open quote is content
}

// Text of one line, or some of it.
void CsvPartScanner::fragment(std::string_view text, std::int64_t offset, bool with_quotes) {
  std::size_t blanks = 0;
  while (blanks < text.size() && is_blank(text[blanks])) ++blanks;
  if (blanks == text.size()) return;
  const std::int64_t begin = offset + static_cast<std::int64_t>(blanks);
  for (std::size_t h = 0; h < 2; ++h) {
    Count& count = counts_[h];
    if (count.content) continue;
    count.content = true;
    if (h == 0 && count.line_ends == 0) leading_content_ = true;
    if (begin >= next_landmark_[h] && count.line_begin >= 0) {
      count.landmarks.push_back({count.rows, count.line_begin, newlines_});
      next_landmark_[h] = begin - begin % spacing_ + spacing_;
    }
    ++count.rows;
  }
  if (with_quotes && std::count(text.begin(), text.end(), '"') % 2 != 0) odd_quotes_ = !odd_quotes_;
}

void CsvPartScanner::newline(std::int64_t next_line) {
  ++newlines_;
  // Outside quotes for just one of the two beginnings: there the line ends.
  Count& count = counts_[odd_quotes_ ? 1 : 0];
  count.content = false;
  count.line_begin = next_line;
  ++count.line_ends;
}

void CsvPartScanner::feed(std::string_view bytes) {
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  const auto find = [end](const char* from, char c) {
    const void* found = from == end ? nullptr : std::memchr(from, c, static_cast<std::size_t>(end - from));
    return found == nullptr ? end : static_cast<const char*>(found);
  };
  const char* next_quote = find(at, '"');
  while (at < end) {
    const char* const line_end = find(at, '\n');
    const bool with_quotes = next_quote < line_end;
    fragment({at, static_cast<std::size_t>(line_end - at)}, position_ + (at - bytes.data()), with_quotes);
    if (with_quotes) next_quote = find(line_end, '"');
    if (line_end == end) break;
    at = line_end + 1;
    newline(position_ + (at - bytes.data()));
  }
  position_ += static_cast<std::int64_t>(bytes.size());
}

const CsvLandmark& CsvIndex::before(std::int64_t row) const {
  const auto after = std::upper_bound(landmarks.begin(), landmarks.end(), row,
                                      [](std::int64_t r, const CsvLandmark& mark) { return r < mark.row; });
  return *std::prev(after);
}

CsvPartSummary summary_of(const CsvPartScanner& scanner) {
  CsvPartSummary summary;
  for (std::size_t h = 0; h < 2; ++h) {
    const CsvPartScanner::Count& count = scanner.count(static_cast<int>(h));
    summary.rows[h] = count.rows;
    summary.line_ends[h] = count.line_ends;
    summary.content[h] = count.content ? 1 : 0;
  }
  summary.newlines = scanner.newlines();
  summary.leading_content = scanner.leading_content() ? 1 : 0;
  summary.odd_quotes = scanner.odd_quotes() ? 1 : 0;
  return summary;
}

CsvStarts located(const CsvPartScanner& scanner, std::span<const CsvPartSummary> parts, std::size_t position,
                  std::int64_t first_line) {
  PartStart at{.line = first_line};
  PartStart here;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i == position) here = at;
    at.pass(parts[i]);
  }
  std::vector<CsvLandmark> landmarks = scanner.count(here.inside ? 1 : 0).landmarks;
  if (here.continues(scanner.leading_content())) {
    // The part's first row is not one: all others move up by one place.
    std::erase_if(landmarks, [](const CsvLandmark& mark) { return mark.row == 0; });
    for (CsvLandmark& mark : landmarks) --mark.row;
  }
  for (CsvLandmark& mark : landmarks) {
    mark.row += here.row;
    mark.line += here.line;
  }
  // A part that begins at a line's first byte does not know that it does: where the parts before have blank
  // lines alone, the first row is found from the beginning.
  if (position == 0 && at.row > 0 && (landmarks.empty() || landmarks.front().row > 0))
    landmarks.insert(landmarks.begin(), {0, scanner.begin(), first_line});
  return {at.row, std::move(landmarks)};
}

CsvIndex index_csv(const tessera::mpi::Communicator& comm, ByteSource& source, CsvPart part,
                   std::size_t buffer_bytes, std::int64_t spacing_bytes) {
  const bool first_part = part.begin == comm.allgather(part.begin)[0];
  CsvPartScanner scanner(part.begin, spacing_bytes, first_part);
  together(comm, [&] {
    std::vector<char> buffer(buffer_bytes);
    source.seek(part.begin);
    for (std::int64_t at = part.begin; at < part.end;) {
      const auto wanted = std::min(static_cast<std::int64_t>(buffer.size()), part.end - at);
      const std::size_t got = source.read(std::span(buffer).first(static_cast<std::size_t>(wanted)));
      if (got == 0) break;
      scanner.feed({buffer.data(), got});
      at += static_cast<std::int64_t>(got);
    }
  });

  const std::vector<CsvPartSummary> parts = comm.allgather(summary_of(scanner));
  const std::int64_t first_line = comm.allgather(part.first_line)[0];
  CsvStarts mine = located(scanner, parts, static_cast<std::size_t>(comm.rank()), first_line);
  return {mine.rows, comm.allgatherv(std::span<const CsvLandmark>(mine.landmarks))};
}

}  // namespace tessera::gam

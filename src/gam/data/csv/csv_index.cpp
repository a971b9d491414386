// SPDX-License-Identifier: Apache-2.0
#include "gam/data/csv/csv_index.hpp"

#include "base/message.hpp"
#include "gam/data/csv/byte_places.hpp"

#include <tessera/job/together.hpp>

#include <algorithm>
#include <bit>
#include <memory>
#include <numeric>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// State at the beginning of a part of the file: whether it begins inside quotes, whether its first line has
/// content in earlier parts, the number of rows before the part, and the number of its first line.
struct PartStart {
  bool inside = false;
  bool content = false;
  std::int64_t row = 0;
  std::int64_t line = 1;

  /// Whether the part's first counted row continues a row of the previous part.
  [[nodiscard]] bool continues(bool leading_content) const { return !inside && content && leading_content; }

  void pass(const CsvPartSummary& part) {
    const std::size_t h = inside ? 1 : 0;
    row += part.rows[h] - (continues(part.leading_content != 0) ? 1 : 0);
    line += part.newlines;
    content = part.content[h] != 0 || (content && part.line_ends[h] == 0);
    inside = inside != (part.odd_quotes != 0);
  }
};

/// Appends the landmarks of a part that begins in state `here`, with rows and lines counted in the file.
void add_landmarks(const CsvPartScanner& scanner, const PartStart& here,
                   std::vector<CsvLandmark>& landmarks) {
  const bool continues = here.continues(scanner.summary().leading_content != 0);
  for (CsvLandmark mark : scanner.landmarks(here.inside)) {
    // The first row of the part belongs to the previous part: it is not counted again.
    if (continues && mark.row == 0) continue;
    mark.row += here.row - (continues ? 1 : 0);
    mark.line += here.line;
    landmarks.push_back(mark);
  }
}

// Buffers per piece: enough that waking threads costs little, few enough to balance the load.
constexpr std::int64_t buffers_of_piece = 16;
// Maximum number of pieces per rank, because every rank receives summaries of all pieces of the job.
constexpr std::int64_t max_pieces = 4096;
// Pieces per thread between two checks for a request to stop.
constexpr std::int64_t pieces_between = 4;

/// Divides a part into pieces for the threads: at least one piece, which may be empty.
std::vector<Range> pieces_of(Range part, std::size_t buffer_bytes, bool in_order) {
  const std::int64_t size = in_order ? part.size()
                                     : std::max(buffers_of_piece * static_cast<std::int64_t>(buffer_bytes),
                                                part.size() / max_pieces + 1);
  std::vector<Range> pieces{{part.begin, part.begin + std::min(part.size(), size)}};
  while (pieces.back().end < part.end)
    pieces.push_back({pieces.back().end, std::min(part.end, pieces.back().end + size)});
  return pieces;
}

void scan_piece(ByteReader& reader, std::span<char> buffer, Range piece, CsvPartScanner& scanner) {
  reader.seek(piece.begin);
  for (std::int64_t at = piece.begin; at < piece.end;) {
    const auto wanted = std::min(std::ssize(buffer), piece.end - at);
    const std::size_t got = reader.read(buffer.first(static_cast<std::size_t>(wanted)));
    if (got == 0) break;
    scanner.feed({buffer.data(), got});
    at += static_cast<std::int64_t>(got);
  }
}

void scan_pieces(HostTeam& team, ByteSource& source, std::size_t buffer_bytes, std::span<const Range> pieces,
                 const BetweenReads& between, std::span<CsvPartScanner> scanners) {
  std::vector<std::unique_ptr<ByteReader>> sources;
  sources.reserve(static_cast<std::size_t>(team.size()));
  for (int thread = 0; thread < team.size(); ++thread) sources.push_back(source.for_another_thread());
  std::vector<std::vector<char>> buffers(sources.size());
  const std::int64_t step = pieces_between * team.size();
  for (std::int64_t begin = 0; begin < std::ssize(pieces); begin += step) {
    if (between) between();
    team.for_each_block({begin, std::min(std::ssize(pieces), begin + step)}, 1, [&](int thread, Range one) {
      const auto own = static_cast<std::size_t>(thread);
      const auto i = static_cast<std::size_t>(one.begin);
      buffers[own].resize(buffer_bytes);
      scan_piece(*sources[own], buffers[own], pieces[i], scanners[i]);
    });
  }
}

}  // namespace

CsvPartScanner::CsvPartScanner(std::int64_t begin, std::int64_t spacing_bytes, bool at_line,
                               const CsvDialect& dialect)
    : dialect_(dialect),
      begin_(begin),
      spacing_(spacing_bytes),
      position_(begin),
      line_begin_{at_line ? begin : -1, -1},
      next_landmark_{begin, begin} {
  summary_.content[1] = 1;  // if the part begins inside quotes: the open quote is content
}

// `text` has no newline.
void CsvPartScanner::fragment(std::string_view text, std::int64_t offset) {
  if (summary_.content[0] != 0 && summary_.content[1] != 0) return;
  std::size_t blanks = 0;
  while (blanks < text.size() && dialect_.is_blank(text[blanks])) ++blanks;
  if (blanks == text.size()) return;
  const std::int64_t begin = offset + static_cast<std::int64_t>(blanks);
  for (std::size_t h = 0; h < 2; ++h) {
    if (summary_.content[h] != 0) continue;
    summary_.content[h] = 1;
    if (h == 0 && summary_.line_ends[0] == 0) summary_.leading_content = 1;
    if (begin >= next_landmark_[h] && line_begin_[h] >= 0) {
      landmarks_[h].push_back({summary_.rows[h], line_begin_[h], summary_.newlines});
      next_landmark_[h] = begin - begin % spacing_ + spacing_;
    }
    ++summary_.rows[h];
  }
}

void CsvPartScanner::newline(std::int64_t next_line) {
  ++summary_.newlines;
  // Under exactly one of the two assumptions this newline is outside quotes, and ends the line.
  const std::size_t h = summary_.odd_quotes != 0 ? 1 : 0;
  summary_.content[h] = 0;
  line_begin_[h] = next_line;
  ++summary_.line_ends[h];
}

void CsvPartScanner::feed(std::string_view bytes) {
  for (; bytes.size() >= block_bytes; bytes.remove_prefix(block_bytes)) block(bytes.data(), block_bytes);
  std::array<char, block_bytes> last{};
  bytes.copy(last.data(), bytes.size());
  block(last.data(), bytes.size());
}

void CsvPartScanner::block(const char* bytes, std::size_t size) {
  const std::uint64_t quotes = places_of('"', bytes);
  const std::uint64_t odd = parities(quotes) ^ (summary_.odd_quotes != 0 ? ~std::uint64_t{0} : 0);
  std::size_t begin = 0;
  for (std::uint64_t newlines = places_of('\n', bytes); newlines != 0; newlines &= newlines - 1) {
    const auto end = static_cast<std::size_t>(std::countr_zero(newlines));
    fragment({bytes + begin, end - begin}, position_ + static_cast<std::int64_t>(begin));
    begin = end + 1;
    summary_.odd_quotes = static_cast<std::int32_t>((odd >> end) & 1);
    newline(position_ + static_cast<std::int64_t>(begin));
  }
  fragment({bytes + begin, size - begin}, position_ + static_cast<std::int64_t>(begin));
  summary_.odd_quotes = static_cast<std::int32_t>(odd >> (block_bytes - 1));
  position_ += static_cast<std::int64_t>(size);
}

std::size_t CsvIndex::before(std::int64_t row) const {
  const auto after = std::upper_bound(landmarks.begin(), landmarks.end(), row,
                                      [](std::int64_t r, const CsvLandmark& mark) { return r < mark.row; });
  return static_cast<std::size_t>(after - landmarks.begin()) - 1;
}

CsvStarts located(std::span<const CsvPartScanner> scanners, std::span<const CsvPartSummary> parts,
                  std::size_t position, std::int64_t first_line) {
  PartStart at{.line = first_line};
  std::vector<CsvLandmark> landmarks;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i >= position && i - position < scanners.size()) add_landmarks(scanners[i - position], at, landmarks);
    at.pass(parts[i]);
  }
  // The first row needs a landmark: if it has none, e.g. after blank lines, add the file's beginning.
  if (position == 0 && at.row > 0 && (landmarks.empty() || landmarks.front().row > 0))
    landmarks.insert(landmarks.begin(), {0, scanners.front().begin(), first_line});
  return {at.row, std::move(landmarks)};
}

CsvIndex index_csv(const Workers& workers, ByteSource& source, CsvPart part, std::size_t buffer_bytes,
                   std::int64_t spacing_bytes, const CsvDialect& dialect, const BetweenReads& between) {
  const mpi::Communicator& comm = workers.comm;
  const bool first_part = part.begin == comm.allgather(part.begin)[0];
  std::vector<CsvPartScanner> scanners;
  together(comm, [&] {
    const bool in_order = source.for_another_thread() == nullptr;
    const std::vector<Range> pieces = pieces_of({part.begin, part.end}, buffer_bytes, in_order);
    for (const Range piece : pieces)
      scanners.emplace_back(piece.begin, spacing_bytes, first_part && piece.begin == part.begin, dialect);
    if (!in_order) return scan_pieces(workers.team, source, buffer_bytes, pieces, between, scanners);
    std::vector<char> buffer(buffer_bytes);
    scan_piece(source, buffer, pieces[0], scanners[0]);
  });

  std::vector<CsvPartSummary> mine;
  mine.reserve(scanners.size());
  for (const CsvPartScanner& scanner : scanners) mine.push_back(scanner.summary());
  const std::vector<std::size_t> counts = comm.allgather(mine.size());
  const std::size_t position = std::accumulate(counts.begin(), counts.begin() + comm.rank(), std::size_t{0});
  const std::vector<CsvPartSummary> parts = comm.allgatherv(std::span<const CsvPartSummary>(mine));
  const std::int64_t first_line = comm.allgather(part.first_line)[0];
  CsvStarts starts = located(scanners, parts, position, first_line);
  return {starts.rows, comm.allgatherv(std::span<const CsvLandmark>(starts.landmarks))};
}

CsvIndex index_of_rows(CsvRowReader& reader, std::int64_t spacing_bytes) {
  CsvIndex index;
  for (std::int64_t next_landmark = 0; reader.next(); ++index.rows) {
    const std::int64_t offset = reader.row_offset();
    if (offset < next_landmark) continue;
    index.landmarks.push_back({index.rows, offset, reader.line()});
    next_landmark = offset - offset % spacing_bytes + spacing_bytes;
  }
  return index;
}

CsvIndex index_in_order(const mpi::Communicator& comm, ByteSource& source, const std::string& path,
                        const CsvPart& part, std::size_t buffer_bytes, std::int64_t spacing_bytes,
                        const CsvDialect& dialect) {
  CsvIndex index;
  together(comm, [&] {
    if (comm.rank() != 0) return;
    CsvRowReader reader(source, path, buffer_bytes, part.begin, part.first_line, dialect);
    index = index_of_rows(reader, spacing_bytes);
  });
  base::broadcast_values(comm, 0, index.rows, index.landmarks);
  return index;
}

}  // namespace TESSERA_NAMESPACE::gam

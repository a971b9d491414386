// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/bytes/byte_source.hpp"
#include "gam/data/csv/csv_dialect.hpp"
#include "gam/data/csv/csv_tokenizer.hpp"
#include "gam/data/frame/workers.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Finds where the rows of a CSV file begin, on all ranks together: each rank scans an equal part of the
/// bytes once, in pieces on its threads.
///
/// Whether a byte is inside quotes depends on all bytes before it. A piece is scanned without waiting for
/// earlier pieces: rows are counted under both assumptions, that the piece begins outside or inside quotes.
/// The valid count is chosen when the quotes of all earlier pieces are known.
namespace TESSERA_NAMESPACE::gam {

/// The start of a row, from which rows can be read; `offset` in bytes.
struct CsvLandmark {
  std::int64_t row = 0;
  std::int64_t offset = 0;
  std::int64_t line = 0;
};

/// The rows of a part of the file under both assumptions: the part begins outside (0) or inside (1) quotes.
struct CsvPartSummary {
  std::array<std::int64_t, 2> rows{};       ///< rows that begin in the part
  std::array<std::int64_t, 2> line_ends{};  ///< newlines outside quotes
  std::array<std::int32_t, 2> content{};    ///< whether the part's last line has a non-blank
  std::int64_t newlines = 0;
  /// Whether the first line has content if the part begins outside quotes. This line begins a new row only if
  /// it was blank in the previous part.
  std::int32_t leading_content = 0;
  std::int32_t odd_quotes = 0;
};

class CsvPartScanner {
 public:
  /// Sets a landmark at the first row at or after each multiple of `spacing_bytes` whose line begins in the
  /// part. `at_line`: the part begins at the start of a line.
  CsvPartScanner(std::int64_t begin, std::int64_t spacing_bytes, bool at_line,
                 const CsvDialect& dialect = {});

  void feed(std::string_view bytes);

  [[nodiscard]] const CsvPartSummary& summary() const { return summary_; }
  /// Landmarks if the part begins inside or outside quotes. Rows and lines count from the part's beginning.
  [[nodiscard]] const std::vector<CsvLandmark>& landmarks(bool inside) const {
    return landmarks_[inside ? 1 : 0];
  }
  [[nodiscard]] std::int64_t begin() const { return begin_; }

 private:
  void block(const char* bytes, std::size_t size);
  void fragment(std::string_view text, std::int64_t offset);
  void newline(std::int64_t next_line);

  CsvDialect dialect_;
  std::int64_t begin_;
  std::int64_t spacing_;
  std::int64_t position_;
  CsvPartSummary summary_;
  /// Under each assumption: where the part's last line begins; -1: in an earlier part.
  std::array<std::int64_t, 2> line_begin_;
  std::array<std::vector<CsvLandmark>, 2> landmarks_;
  std::array<std::int64_t, 2> next_landmark_;
};

/// Number of rows of the whole file, and landmarks of some parts, with rows and lines counted in the file.
struct CsvStarts {
  std::int64_t rows = 0;
  std::vector<CsvLandmark> landmarks;
};
/// Locates the rows of the consecutive parts in `scanners`, by prefix sums over `parts`, all parts of the
/// file. `position`: the index in `parts` of the first scanner. The first part begins at `first_line`. Pure.
[[nodiscard]] CsvStarts located(std::span<const CsvPartScanner> scanners,
                                std::span<const CsvPartSummary> parts, std::size_t position,
                                std::int64_t first_line);

struct CsvIndex {
  std::int64_t rows = 0;
  std::vector<CsvLandmark> landmarks;  ///< landmarks in order; the first is at row 0

  /// The index of the last landmark at or before this row.
  [[nodiscard]] std::size_t before(std::int64_t row) const;
};

/// The part of a file that this rank scans: bytes `[begin, end)`. The parts of consecutive ranks are
/// contiguous; the first part begins at the start of line `first_line`.
struct CsvPart {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t first_line = 1;
};

/// *Collective.* The index of a file whose dialect has no comments; every rank gets the landmarks of the
/// whole job. A thread holds at most `buffer_bytes`. `between` is called repeatedly on the calling thread.
/// Throws the same `Error(input)` on every rank if a rank cannot read.
[[nodiscard]] CsvIndex index_csv(const Workers& workers, ByteSource& source, CsvPart part,
                                 std::size_t buffer_bytes, std::int64_t spacing_bytes,
                                 const CsvDialect& dialect = {}, const BetweenReads& between = {});

/// The index of the rows from the reader's position to the end. Throws `Error(input)` for an unclosed quote.
[[nodiscard]] CsvIndex index_of_rows(CsvRowReader& reader, std::int64_t spacing_bytes);

/// *Collective.* The index of a file with comments. Quotes in comments have no meaning, so rank 0 scans the
/// file from `part.begin` to its end on one thread. Throws like `index_csv`, and for an unclosed quote.
[[nodiscard]] CsvIndex index_in_order(const mpi::Communicator& comm, ByteSource& source,
                                      const std::string& path, const CsvPart& part, std::size_t buffer_bytes,
                                      std::int64_t spacing_bytes, const CsvDialect& dialect);

}  // namespace TESSERA_NAMESPACE::gam

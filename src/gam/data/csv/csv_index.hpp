// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/bytes/byte_source.hpp"
#include "gam/data/csv/csv_dialect.hpp"
#include "gam/data/csv/csv_rows.hpp"
#include "gam/data/frame/workers.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Finds the beginnings of the rows of a CSV file, on all ranks together: each scans an equal part of the
/// bytes, once, its threads in pieces.
///
/// Whether a byte is inside quotes depends on every byte before it. A piece is scanned without waiting for
/// earlier ones: rows are counted under both assumptions, that it begins outside or inside quotes, and the
/// valid count is chosen once the quotes of the earlier parts are known.
namespace TESSERA_NAMESPACE::gam {

/// A position from which rows can be read.
struct CsvLandmark {
  std::int64_t row = 0;
  std::int64_t offset = 0;  ///< offset of its first byte
  std::int64_t line = 0;
};

/// The rows of one part of the file, under both assumptions: that it begins outside (0) or inside (1) quotes.
struct CsvPartSummary {
  std::array<std::int64_t, 2> rows{};       ///< rows that begin here
  std::array<std::int64_t, 2> line_ends{};  ///< ends of rows or of empty lines
  std::array<std::int32_t, 2> content{};    ///< at the end of the part: its last line has more than blanks
  std::int64_t newlines = 0;
  /// If the part begins outside quotes: its first line has content. It is a new row only if the previous part
  /// left that line blank.
  std::int32_t leading_content = 0;
  std::int32_t odd_quotes = 0;
};

class CsvPartScanner {
 public:
  /// Makes a landmark at the first row at or after each multiple of `spacing_bytes` whose line begins in the
  /// part. `at_line`: the part begins at a line.
  CsvPartScanner(std::int64_t begin, std::int64_t spacing_bytes, bool at_line,
                 const CsvDialect& dialect = {});

  /// The next bytes of the part.
  void feed(std::string_view bytes);

  [[nodiscard]] const CsvPartSummary& summary() const { return summary_; }
  /// By assumption; row and line are counted from the part's beginning.
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
  /// By assumption: where the line at the end of the part begins; -1: in an earlier part.
  std::array<std::int64_t, 2> line_begin_;
  std::array<std::vector<CsvLandmark>, 2> landmarks_;
  std::array<std::int64_t, 2> next_landmark_;
};

/// Number of rows of the whole file, and the landmarks of some parts with their rows and lines in it.
struct CsvStarts {
  std::int64_t rows = 0;
  std::vector<CsvLandmark> landmarks;
};
/// Locates the rows of consecutive parts, given by `scanners`; `position` is the index of the first of these
/// among all `parts` of the file, which begins at `first_line`. Pure.
[[nodiscard]] CsvStarts located(std::span<const CsvPartScanner> scanners,
                                std::span<const CsvPartSummary> parts, std::size_t position,
                                std::int64_t first_line);

struct CsvIndex {
  std::int64_t rows = 0;
  std::vector<CsvLandmark> landmarks;  ///< in order; the first is row 0

  /// The index of the last landmark at or before a row.
  [[nodiscard]] std::size_t before(std::int64_t row) const;
};

/// The part of a file that this rank scans: bytes `[begin, end)`. Parts of successive ranks are contiguous;
/// the first begins at the start of line `first_line`.
struct CsvPart {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t first_line = 1;
};

/// *Collective.* Throws the same `Error(input)` on every rank if a rank cannot read. A thread holds at most
/// `buffer_bytes`; every rank gets the landmarks of the whole job. `between` is called repeatedly on the
/// calling thread. The file must be of a dialect without comments.
[[nodiscard]] CsvIndex index_csv(const Workers& workers, ByteSource& source, CsvPart part,
                                 std::size_t buffer_bytes, std::int64_t spacing_bytes,
                                 const CsvDialect& dialect = {}, const BetweenReads& between = {});

/// The index of the rows from the reader's position to the end. Throws `Error(input)` for a quote that is
/// never closed.
[[nodiscard]] CsvIndex index_of_rows(CsvRowReader& reader, std::int64_t spacing_bytes);

/// *Collective.* As `index_csv` for a file with comments, whose quotes mean nothing: rank 0 reads it in order
/// from `part.begin` to its end, on one thread. Throws also for a quote that is never closed.
[[nodiscard]] CsvIndex index_in_order(const mpi::Communicator& comm, ByteSource& source,
                                      const std::string& path, const CsvPart& part, std::size_t buffer_bytes,
                                      std::int64_t spacing_bytes, const CsvDialect& dialect);

}  // namespace TESSERA_NAMESPACE::gam

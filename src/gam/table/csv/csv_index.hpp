// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/table/bytes/byte_source.hpp"
#include "gam/table/frame/workers.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

/// Where the rows of a CSV file begin, found by all ranks together: each looks at an equal part of the
/// bytes, once, and its threads at pieces of that.
///
/// Whether a byte lies inside quotes depends on every byte before it. Who reads a piece does not wait to be
/// told: it counts the rows twice, as if its part began outside quotes and as if it began inside, and keeps
/// the count that turns out to be true when the quotes of the parts before it are known.
namespace tessera::gam {

/// A place from which rows can be read.
struct CsvLandmark {
  std::int64_t row = 0;
  std::int64_t offset = 0;  ///< of its first byte
  std::int64_t line = 0;
};

/// The rows of one part of the file, for both beginnings.
class CsvPartScanner {
 public:
  /// Leaves a landmark at the first row at or behind each multiple of `spacing_bytes` whose line begins in
  /// the part. `at_line`: the part begins with a line of its own.
  CsvPartScanner(std::int64_t begin, std::int64_t spacing_bytes, bool at_line);

  /// The next bytes of the part.
  void feed(std::string_view bytes);

  /// What is counted if the part begins outside (0) or inside (1) quotes.
  struct Count {
    std::int64_t rows = 0;               ///< that begin here
    std::int64_t line_ends = 0;          ///< where a row ended or an empty line did
    bool content = false;                ///< at the end of the part: the line has more than blanks so far
    std::int64_t line_begin = -1;        ///< of the line at the end of the part; -1: in a part before
    std::vector<CsvLandmark> landmarks;  ///< row and line counted from the part's beginning
  };
  [[nodiscard]] const Count& count(int inside) const { return counts_[static_cast<std::size_t>(inside)]; }
  /// Outside quotes: the first row that begins here does so before any line ends here. It is no row if
  /// the line had content before.
  [[nodiscard]] bool leading_content() const { return leading_content_; }
  [[nodiscard]] bool odd_quotes() const { return odd_quotes_; }
  [[nodiscard]] std::int64_t newlines() const { return newlines_; }
  [[nodiscard]] std::int64_t begin() const { return begin_; }

 private:
  void block(const char* bytes, std::size_t size);
  void fragment(std::string_view text, std::int64_t offset);
  void newline(std::int64_t next_line);

  std::int64_t begin_;
  std::int64_t spacing_;
  std::int64_t position_;
  std::int64_t newlines_ = 0;
  bool odd_quotes_ = false;
  bool leading_content_ = false;
  std::array<Count, 2> counts_;
  std::array<std::int64_t, 2> next_landmark_;
};

/// What the other ranks must know of a part.
struct CsvPartSummary {
  std::array<std::int64_t, 2> rows{};
  std::array<std::int64_t, 2> line_ends{};
  std::array<std::int32_t, 2> content{};
  std::int64_t newlines = 0;
  std::int32_t leading_content = 0;
  std::int32_t odd_quotes = 0;
};
[[nodiscard]] CsvPartSummary summary_of(const CsvPartScanner& scanner);

/// Rows of the whole file, and the landmarks of some parts with their true rows and lines.
struct CsvStarts {
  std::int64_t rows = 0;
  std::vector<CsvLandmark> landmarks;
};
/// Of the parts that `scanners` have seen, those from `position` on of all `parts` in the order of the file,
/// whose first begins at `first_line`. Pure.
[[nodiscard]] CsvStarts located(std::span<const CsvPartScanner> scanners,
                                std::span<const CsvPartSummary> parts, std::size_t position,
                                std::int64_t first_line);

struct CsvIndex {
  std::int64_t rows = 0;
  std::vector<CsvLandmark> landmarks;  ///< in order; the first is row 0

  /// The place of the last landmark at or before a row.
  [[nodiscard]] std::size_t before(std::int64_t row) const;
};

/// The part of a file that this rank scans: `[begin, end)` of the bytes. Parts of the ranks follow one
/// another; the first begins at a line of its own, the line `first_line`.
struct CsvPart {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t first_line = 1;
};

/// *Collective.* Throws the same `Error(input)` on every rank if one cannot read. At most `buffer_bytes`
/// are held by a thread; the landmarks of the whole job are on every rank. `between` is called on the calling
/// thread again and again.
[[nodiscard]] CsvIndex index_csv(const Workers& workers, ByteSource& source, CsvPart part,
                                 std::size_t buffer_bytes, std::int64_t spacing_bytes,
                                 const BetweenReads& between = {});

}  // namespace tessera::gam

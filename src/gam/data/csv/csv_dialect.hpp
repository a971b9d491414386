// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/bytes/byte_source.hpp"

#include <tessera/gam/table_options.hpp>

#include <cstddef>
#include <string>

namespace TESSERA_NAMESPACE::gam {

struct CsvDialect {
  char separator = ',';
  char decimal = '.';   ///< '.' or ','
  char comment = '\0';  ///< lines that begin with this, also after blanks, are skipped; NUL: none

  /// Blanks do not count as content of a line.
  [[nodiscard]] constexpr bool is_blank(char c) const noexcept {
    return (c == ' ' || c == '\t' || c == '\r') && c != separator;
  }
};

/// A dialect, and words for the log about its inferred characters; empty words: the usual dialect.
struct FoundDialect {
  CsvDialect dialect;
  std::string words;
};

/// Infers the characters that the options do not set. Reads rows from `offset` on; the first may be a header.
///
/// The separator is the first of comma, tab, semicolon and bar that gives the same number of fields, at least
/// two, in each of the first rows; otherwise a comma. With a semicolon or tab as separator, the decimal mark
/// is a comma if a column has commas, each between digits and one per number, and no column has a number with
/// a point. With tabs, commas that may all separate thousands (three digits follow each) are no decimal
/// marks.
///
/// Throws `Error(usage)` for options that are not single characters or contradict each other. Ignores a
/// malformed row and the rows after it; the reading of the table reports the malformed row.
[[nodiscard]] FoundDialect find_dialect(ByteSource& source, const std::string& path, std::size_t buffer_bytes,
                                        std::int64_t offset, const TableOptions& options);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/bytes/byte_source.hpp"

#include <tessera/gam/table_options.hpp>

#include <cstddef>
#include <string>

namespace TESSERA_NAMESPACE::gam {

/// The characters by which a text file is divided into rows, fields and numbers.
struct CsvDialect {
  char separator = ',';
  char decimal = '.';   ///< or ','
  char comment = '\0';  ///< lines that begin with it, perhaps after blanks, are skipped; NUL: none

  /// A character that does not count as content of a line.
  [[nodiscard]] constexpr bool is_blank(char c) const noexcept {
    return (c == ' ' || c == '\t' || c == '\r') && c != separator;
  }
};

/// The dialect of a file, and what was found out about it, as words for the log; empty: nothing unusual.
struct FoundDialect {
  CsvDialect dialect;
  std::string words;
};

/// Finds what the options leave open in the rows from `offset` on, the first of which may be a header.
///
/// The separator is the first of comma, tab, semicolon and bar that gives the same number of fields, at least
/// two, in each of the first rows; else a comma. So a file that can be read with commas is read with commas.
/// A semicolon or a tab may be joined by decimal commas: where a column has commas, each between digits and
/// one in a number, and no column has a number with a point. With tabs these commas must not all be followed
/// by three digits, as those that group thousands are.
///
/// Throws `Error(usage)` for options that are no such characters, or that contradict each other. Faults of
/// the rows are left to the reading of the table.
[[nodiscard]] FoundDialect find_dialect(ByteSource& source, const std::string& path, std::size_t buffer_bytes,
                                        std::int64_t offset, const TableOptions& options);

}  // namespace TESSERA_NAMESPACE::gam

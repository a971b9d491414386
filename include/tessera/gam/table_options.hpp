// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// How the fields of a file are parsed.
struct TableOptions {
  std::vector<std::string> missing{"NA"};  ///< fields that denote a missing value
  std::vector<std::string> factors{};      ///< columns to read as factors, even if all values are numbers
  std::vector<std::string> numbers{};      ///< columns that must be numbers, even if quoted
  /// Columns of ISO dates, which are converted to days since 1970-01-01, or of dates with times, which are
  /// converted to seconds since 1970-01-01 UTC. A time without an offset is UTC.
  std::vector<std::string> dates{};
  std::int64_t block_rows = 8192;  ///< rows per block of the reproducible sums

  // The following options are for text files. For other formats they are errors.

  /// Separator of fields: one character, or "tab". Empty: the first of comma, tab, semicolon and bar for
  /// which the header and the first 100 rows have the same number of fields, at least two; else a comma.
  std::string sep{};
  /// The decimal mark, "." or ",". Empty: a point or a comma. It is a comma if fields are separated by
  /// semicolons or tabs, and in the first 100 rows some column has only commas between digits, and no column
  /// has a point. With tabs, commas that may all separate thousands do not count.
  std::string dec{};
  std::string comment{};  ///< a character; lines that begin with it, possibly after blanks, are skipped
  bool header = true;     ///< whether the first row has column names; otherwise the names are V1, V2, ...
  std::int64_t skip = 0;  ///< number of lines to skip before the table
};

/// Where columns are stored between the passes of a fit.
struct MemoryOptions {
  /// Memory limit for columns per node, in bytes, over all ranks of the node; default: 75 % of free memory.
  /// Columns that exceed the limit are stored in scratch files and read in every pass over the rows.
  std::optional<std::int64_t> node_bytes{};
  /// Folder of the scratch files; it should be on a disk. Empty: $TMPDIR, or else /var/tmp.
  std::string scratch{};
  /// Memory limit for columns and workspace per device, in bytes. Default and maximum: the job's budget of
  /// the device (`InventoryDevice::memory_budget_bytes`). Columns that exceed the limit are uploaded in each
  /// pass over the rows.
  std::optional<std::int64_t> device_bytes{};
};

}  // namespace TESSERA_NAMESPACE::gam

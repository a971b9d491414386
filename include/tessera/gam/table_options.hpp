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
  std::vector<std::string> factors{};      ///< columns that are factors, including numeric ones
  std::vector<std::string> numbers{};      ///< columns that must be numbers, even if quoted
  /// Columns whose texts are ISO dates, which become days since 1970-01-01; or, if they have a time, seconds
  /// since 1970-01-01 UTC. A time without an offset is UTC.
  std::vector<std::string> dates{};
  std::int64_t block_rows = 8192;  ///< rows per block of the reproducible sums

  // The following options are for text files; with other formats they are errors.
  //
  // Separator of fields: one character, or "tab". Empty: the first of comma, tab, semicolon and bar that
  // gives the first 100 rows and the header the same number of fields, at least two; else a comma.
  std::string sep{};
  /// The decimal mark, "." or ",". Empty: a point, unless fields are separated by semicolons or tabs, some
  /// column has only commas between digits in the first 100 rows, and no column has a point; the mark is then
  /// a comma.
  std::string dec{};
  std::string comment{};  ///< a character: lines that begin with it, also after blanks, are skipped
  bool header = true;     ///< whether the first row has the columns' names; otherwise they are V1, V2, ...
  std::int64_t skip = 0;  ///< number of lines to skip before the table
};

/// Where columns are stored between the passes of a fit.
struct MemoryOptions {
  /// Per-node limit for columns, in bytes, over all ranks of the node; default: 75 % of free memory. Columns
  /// beyond it are stored in scratch files and read in every pass.
  std::optional<std::int64_t> node_bytes{};
  /// Folder of the scratch files, on a disk. Empty: $TMPDIR, or else /var/tmp.
  std::string scratch{};
  /// Per-device limit for columns and the passes' workspace, in bytes. Default and upper limit: the job's
  /// budget of the device (`InventoryDevice::memory_budget_bytes`). Columns beyond it are uploaded in each
  /// pass.
  std::optional<std::int64_t> device_bytes{};
};

}  // namespace TESSERA_NAMESPACE::gam

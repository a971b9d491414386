// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/bytes/byte_source.hpp"
#include "gam/data/csv/csv_dialect.hpp"
#include "gam/data/csv/csv_index.hpp"
#include "gam/data/frame/frame_builder.hpp"
#include "gam/data/frame/read_plan.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

/// Reads the header and the columns of a plan on one rank, without communication. `FramePart` decides which
/// fields are missing values.
namespace TESSERA_NAMESPACE::gam {

/// The column names from the header, which is the first row that is not blank, and the dialect of the file.
struct CsvHeader {
  std::vector<std::string> columns;
  std::string quotes;            ///< a character per column: '"' if its name is quoted or empty, else a blank
  std::int64_t data_offset = 0;  ///< offset of the first byte after the header
  std::int64_t data_line = 1;    ///< number of the line at `data_offset`
  CsvDialect dialect{};
  std::string dialect_words{};  ///< description of the inferred dialect, for the log
};

/// Throws `Error(input)`, with the line, if the file has no row, another format, a repeated name, or a name
/// that is not UTF-8; also throws like `find_dialect`.
[[nodiscard]] CsvHeader read_csv_header(ByteSource& source, const std::string& path, std::size_t buffer_bytes,
                                        const TableOptions& options = {});

struct CsvRows {
  ByteSource& source;
  const std::string& path;
  const std::vector<std::string>& columns;
  const CsvDialect& dialect;
  const CsvIndex& index;
  std::size_t buffer_bytes;  ///< size of each thread's buffer
  BetweenReads between;
};

/// A scan of the rows: on several threads if the source has random access, otherwise sequential. The scan
/// keeps references to the arguments. Throws `Error(input)`, with the line, for a row that does not match the
/// header. Rethrows exceptions of `FramePart`.
[[nodiscard]] std::unique_ptr<RowScan> scan_csv(const CsvRows& file, const ReadPlan& plan, int threads);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/table/bytes/byte_source.hpp"
#include "gam/table/csv/csv_index.hpp"
#include "gam/table/frame/frame_builder.hpp"

#include <tessera/partition/plan.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// The header and the rows of a CSV file as one rank reads them, whatever the others do.
namespace tessera::gam {

/// What the first row that is not blank tells.
struct CsvHeader {
  std::vector<std::string> columns;
  std::int64_t data_offset = 0;  ///< of the first byte behind it
  std::int64_t data_line = 1;
};

/// Throws `Error(input)`, with the line: no such row, two columns of one name, a name that is not UTF-8, a
/// file of another format.
[[nodiscard]] CsvHeader read_csv_header(ByteSource& source, const std::string& path,
                                        std::size_t buffer_bytes);

/// A file whose rows were counted.
struct CsvRows {
  ByteSource& source;
  const std::string& path;
  std::size_t columns;  ///< that its header names
  const CsvIndex& index;
  std::size_t buffer_bytes;  ///< of each thread
  const BetweenReads& between;
};

/// Hands rows to the builder, on all threads of its team where the source can be read at any place. Throws
/// `Error(input)`, with the line, for one that is not as the header has it, and whatever the builder throws.
void scan_csv(const CsvRows& file, Range rows, FrameBuilder& builder);

}  // namespace tessera::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/bytes/byte_source.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::fuzz {

/// The result of reading a table.
struct CsvReading {
  std::string fault;  ///< why it is refused; empty: it is not
  std::vector<std::string> columns;
  std::int64_t rows = 0;
  std::vector<std::string> fields;   ///< of each row, after its line
  std::vector<std::int64_t> counts;  ///< of numbers, texts, missing and blank fields, column after column
  bool operator==(const CsvReading&) const = default;
};

/// Reads a table with ranks whose parts of the file end at `cuts`, and which read equal numbers of rows.
struct CsvDivision {
  std::vector<std::int64_t> cuts;  ///< ascending places in the file; the last part goes to its end
  std::size_t buffer_bytes = 64;
  std::int64_t landmark_bytes = 16;
  int threads = 1;    ///< of each rank: 1 or 3
  bool text = false;  ///< columns are taken for factors, else for numbers
  gam::TableOptions options{};
};
[[nodiscard]] CsvReading read_csv(gam::ByteSource& source, std::int64_t file_bytes,
                                  const CsvDivision& division);

/// Takes the buffer of `whole` from the next bytes of an input, and two cuts of what follows their line.
[[nodiscard]] std::vector<std::int64_t> take_cuts(std::string_view& input, CsvDivision& whole);
/// The content of a table, which three parts with these cuts must have too, read by one thread and by three.
[[nodiscard]] CsvReading read_alike(gam::ByteSource& source, std::int64_t file_bytes,
                                    const CsvDivision& whole, const std::vector<std::int64_t>& cuts);

}  // namespace tessera::fuzz

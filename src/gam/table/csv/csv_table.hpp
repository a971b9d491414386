// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/table/bytes/byte_source.hpp"
#include "gam/table/frame/frame.hpp"
#include "gam/table/frame/workers.hpp"
#include "gam/table/reader/table_reader.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace tessera::gam {

struct CsvOptions {
  bool gzip = false;
  std::size_t buffer_bytes = std::size_t{1} << 18;  ///< of each thread: they stay in its cache
  /// Between the places of the file from which rows can be found again; 0: chosen by the file's size.
  std::int64_t landmark_bytes = 0;
  OpenOptions open{};
};

/// *Collective.* A table in comma-separated values, as RFC 4180 and R's read.csv have them.
///
/// The first line that is not blank names the columns. Fields may be quoted, with quotes doubled and
/// newlines inside; lines end in LF or CRLF; a byte order mark is passed over; blank lines are no rows.
/// Every character of a field belongs to it, blanks too. What a field means is for frame_builder.hpp to say.
///
/// Each rank scans an equal part of the bytes once to count the rows, and then reads its own rows, both on
/// all threads of its team. So of a gzip file of blocks that tell their sizes, as bgzip writes them. Any
/// other gzip file is unpacked from its beginning, by rank 0 alone to count the rows, and by each rank to
/// read its own, on one thread each.
///
/// What is unpacked to count the rows is kept (kept_source.hpp), and nothing is unpacked twice, where it
/// takes no more than a quarter of the memory that is left, and of `node_bytes`, and as long as the columns
/// do not lack that memory: of blocks by each rank, of any other file by a rank that is alone, all of whose
/// threads read it then.
///
/// Throws the same `Error(input)` on every rank: a file that cannot be read, no header, no row, two columns
/// of one name.
[[nodiscard]] std::unique_ptr<TableReader> open_csv(const Workers& workers, const std::string& path,
                                                    const CsvOptions& options = {});

}  // namespace tessera::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/bytes/byte_source.hpp"
#include "gam/data/frame/workers.hpp"
#include "gam/data/source/table_format.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace TESSERA_NAMESPACE::gam {

struct CsvOptions {
  std::size_t buffer_bytes = std::size_t{1} << 18;  ///< per thread, small enough for its cache
  /// Distance of the offsets at which rows can be found again; 0: chosen by the file's size.
  std::int64_t landmark_bytes = 0;
  OpenOptions open{};
};

/// *Collective.* A table in comma-separated values, as RFC 4180 and R's read.csv have them, or of another
/// dialect (csv_dialect.hpp), by `open.table`; plain, or packed by gzip, zstd, xz or bzip2.
///
/// The first line that is not blank names the columns. Fields may be quoted, with quotes doubled and newlines
/// inside; lines end in LF or CRLF; a byte order mark and blank lines are skipped. Blanks are part of a
/// field. frame_part.hpp interprets the fields.
///
/// Each rank scans an equal part of the bytes once to count the rows, and then reads its own rows, both on
/// all threads of its team; also in a gzip file of blocks with known sizes, as written by bgzip. Any other
/// packed file is unpacked from its beginning, on one thread: by rank 0 to count the rows, and by each rank
/// to read its own.
///
/// Text unpacked to count the rows stays in memory (kept_source.hpp) if it takes at most a quarter of free
/// memory and of `node_bytes`, until the columns need that memory: for blocks on each rank; for any other
/// file only in a job of one rank, whose threads then all read it.
///
/// Throws the same `Error(input)` on every rank for an unreadable file, no header, no row, or two columns of
/// one name.
[[nodiscard]] std::unique_ptr<TableReader> open_csv(const Workers& workers, const std::string& path,
                                                    const CsvOptions& options = {});

/// Text: any file that no other format recognises.
struct CsvFormat {
  static bool recognises(const files::InputFile& /*file*/) { return true; }
  static std::unique_ptr<TableReader> open(const Workers& workers, const std::string& path,
                                           const OpenOptions& options) {
    return open_csv(workers, path, {.open = options});
  }
};

}  // namespace TESSERA_NAMESPACE::gam

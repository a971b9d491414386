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
  std::size_t buffer_bytes = std::size_t{1} << 18;  ///< bytes per thread; small enough for the cache
  /// Distance of the landmarks (`CsvLandmark`) in bytes; 0: chosen by the file's size.
  std::int64_t landmark_bytes = 0;
  OpenOptions open{};
};

/// *Collective.* Opens a table of comma-separated values, in the form of RFC 4180 and R's read.csv or, by
/// `open.table`, of another dialect (csv_dialect.hpp). The file may be compressed by gzip, zstd, xz or bzip2.
///
/// The first line that is not blank names the columns. Quoted fields may contain doubled quotes and newlines;
/// lines end in LF or CRLF; a byte order mark and blank lines are skipped. Blanks are part of a field.
/// frame_part.hpp interprets the fields.
///
/// Each rank scans an equal part of the bytes once to count the rows, and then reads its own rows, both on
/// all threads of its team, also for gzip files of blocks with known sizes, as written by bgzip. Any other
/// compressed file is decompressed from its beginning on one thread: by rank 0 to count the rows, and
/// by each rank to read its own rows.
///
/// The decompressed text is cached while the rows are counted (kept_source.hpp), if it takes at most a
/// quarter of free memory and of `node_bytes`; the cache is freed when the columns need the memory. For bgzip
/// files each rank caches its part. For other compressed files only a job of one rank has a cache, which all
/// its threads then read.
///
/// Throws the same `Error(input)` on every rank for a file that is unreadable, has no header or no row, or
/// has two columns of one name.
[[nodiscard]] std::unique_ptr<TableReader> open_csv(const Workers& workers, const std::string& path,
                                                    const CsvOptions& options = {});

struct CsvFormat {
  static bool recognises(const files::InputFile& /*file*/) { return true; }
  static std::unique_ptr<TableReader> open(const Workers& workers, const std::string& path,
                                           const OpenOptions& options) {
    return open_csv(workers, path, {.open = options});
  }
};

}  // namespace TESSERA_NAMESPACE::gam

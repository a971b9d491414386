// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/bytes/byte_source.hpp"
#include "gam/data/source/table_format.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace TESSERA_NAMESPACE::gam {

struct Hdf5Options {
  std::int64_t chunk_rows = std::int64_t{1} << 15;
  BetweenReads between{};
};

/// *Collective.* Opens an HDF5 file as a table: every one-dimensional dataset at the root is a column. The
/// table of an AnnData file is `obs`, followed by the columns of the matrices in `obsm`: categories are
/// factors, and masked values are missing.
///
/// Integers and floating-point numbers of any size are treated as fields without quotes, NaN as missing;
/// texts of fixed or variable length, and the member names of enumerations, as quoted fields
/// (frame_part.hpp). All other objects are in `left_out` with the reason, and refused if requested: other
/// shapes and types, groups, links, and datasets whose values are missing or in other files
/// (hdf5_contents.cpp). Only AnnData's attributes are read. Each rank reads its own rows of each requested
/// column.
///
/// Throws the same `Error(input)` on every rank: if the file cannot be read, has no column, or has columns of
/// different lengths or without rows; in a build without HDF5 for any file.
[[nodiscard]] std::unique_ptr<TableReader> open_hdf5(const Workers& workers, const std::string& path,
                                                     const Hdf5Options& options = {});

struct Hdf5Format {
  /// The signature is at offset 0 or, after a user block, at 512, 1024, 2048, …
  static bool recognises(const files::InputFile& file) {
    constexpr std::int64_t max_user_block = std::int64_t{1} << 20;
    for (std::int64_t offset = 0; offset <= max_user_block; offset = offset == 0 ? 512 : 2 * offset) {
      if (has_signature(file, offset, "\x89HDF\r\n\x1a\n")) return true;
    }
    return false;
  }
  static std::unique_ptr<TableReader> open(const Workers& workers, const std::string& path,
                                           const OpenOptions& options) {
    refuse_text_options(path, "HDF5", options.table);
    return open_hdf5(workers, path, {.between = options.between});
  }
};

}  // namespace TESSERA_NAMESPACE::gam

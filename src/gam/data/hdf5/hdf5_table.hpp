// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/bytes/byte_source.hpp"
#include "gam/data/source/table_format.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace TESSERA_NAMESPACE::gam {

struct Hdf5Options {
  std::int64_t chunk_rows = std::int64_t{1} << 15;  ///< read of a column at a time
  BetweenReads between{};
};

/// *Collective.* A table in an HDF5 file: every one-dimensional dataset at the root is a column.
///
/// Integers and floating-point numbers of any size are fields without quotes, NaN missing; texts of fixed or
/// variable length, and enumerations by the names of their members, are fields in quotes, interpreted by
/// frame_part.hpp. Everything else is in `left_out` with the reason, and refused if requested: other shapes
/// and types, groups, links, and datasets whose values are in other files, or missing (see
/// hdf5_contents.cpp). Attributes are not read. Each rank reads its own rows of each requested column.
///
/// Throws the same `Error(input)` on every rank: a file that cannot be read, no column, columns of different
/// lengths or without a row; any file, in a build without HDF5.
[[nodiscard]] std::unique_ptr<TableReader> open_hdf5(const Workers& workers, const std::string& path,
                                                     const Hdf5Options& options = {});

struct Hdf5Format {
  /// The signature is at offset 0 or, behind a user block, at 512, 1024, 2048, …
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

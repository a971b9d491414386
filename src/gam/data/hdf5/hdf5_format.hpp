// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/hdf5/hdf5_table.hpp"
#include "gam/data/source/table_format.hpp"

#include <cstdint>

namespace TESSERA_NAMESPACE::gam {

/// HDF5, with one dataset a column.
struct Hdf5Format {
  /// The signature is at offset 0 or, behind a user block, at 512, 1024, 2048, …
  static bool recognises(ByteSource& bytes) {
    constexpr std::int64_t max_user_block = std::int64_t{1} << 20;
    for (std::int64_t offset = 0; offset <= max_user_block; offset = offset == 0 ? 512 : 2 * offset) {
      if (has_signature(bytes, offset, "\x89HDF\r\n\x1a\n")) return true;
    }
    return false;
  }
  static std::unique_ptr<TableReader> open(const Workers& workers, const std::string& path,
                                           const OpenOptions& options) {
    refuse_text_options(path, "HDF5", options.table);
    Hdf5Options hdf5;
    hdf5.between = options.between;
    return open_hdf5(workers, path, hdf5);
  }
};

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/csv/csv_table.hpp"
#include "gam/data/packed/packed_source.hpp"
#include "gam/data/source/table_format.hpp"

namespace TESSERA_NAMESPACE::gam {

/// Text compressed by zstd, xz or bzip2.
struct PackedFormat {
  static bool recognises(ByteSource& bytes) { return is_packed(bytes); }
  static std::unique_ptr<TableReader> open(const Workers& workers, const std::string& path,
                                           const OpenOptions& options) {
    return open_csv(workers, path, {.open_packed = &open_packed, .open = options});
  }
};

}  // namespace TESSERA_NAMESPACE::gam

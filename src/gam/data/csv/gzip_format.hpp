// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/csv/csv_table.hpp"
#include "gam/data/gzip/gzip_source.hpp"
#include "gam/data/source/table_format.hpp"

namespace TESSERA_NAMESPACE::gam {

/// Comma-separated values, compressed by gzip.
struct GzipFormat {
  static bool recognises(ByteSource& bytes) { return has_signature(bytes, 0, "\x1f\x8b"); }
  static std::unique_ptr<TableReader> open(const Workers& workers, const std::string& path,
                                           const OpenOptions& options) {
    return open_csv(workers, path, {.open_packed = &open_gzip, .open = options});
  }
};

}  // namespace TESSERA_NAMESPACE::gam

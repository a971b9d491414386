// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/csv/csv_table.hpp"
#include "gam/data/source/table_format.hpp"

namespace TESSERA_NAMESPACE::gam {

/// Comma-separated values: any file that no other format recognises.
struct CsvFormat {
  static bool recognises(ByteSource& /*bytes*/) { return true; }
  static std::unique_ptr<TableReader> open(const Workers& workers, const std::string& path,
                                           const OpenOptions& options) {
    return open_csv(workers, path, {.open = options});
  }
};

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/arrow/arrow_file.hpp"
#include "gam/data/arrow/arrow_file_table.hpp"
#include "gam/data/source/table_format.hpp"

#include <array>
#include <string_view>

namespace TESSERA_NAMESPACE::gam {

/// Parquet and Feather.
struct ArrowFormat {
  static bool recognises(ByteSource& bytes) {
    std::array<char, 16> beginning{};
    bytes.seek(0);
    return !arrow_format(std::string_view(beginning.data(), bytes.read(beginning))).empty();
  }
  static std::unique_ptr<TableReader> open(const Workers& workers, const std::string& path,
                                           const OpenOptions& options) {
    refuse_text_options(path, "Parquet or Feather", options.table);
    return open_arrow_file(workers, path, options.between);
  }
};

}  // namespace TESSERA_NAMESPACE::gam

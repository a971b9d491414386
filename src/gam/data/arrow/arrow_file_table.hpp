// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/arrow/arrow_file.hpp"
#include "gam/data/frame/workers.hpp"
#include "gam/data/source/table_format.hpp"

#include <array>
#include <memory>
#include <string>

namespace TESSERA_NAMESPACE::gam {

/// *Collective.* A table in a Parquet or Feather file, read by the plugin (arrow_file.hpp). Types are as in
/// `arrow_table` (<tessera/gam/arrow.hpp>); decimals are numbers. Nested columns and other unsupported types
/// are in `left_out`. The levels of an ordered dictionary are those of its first batch.
///
/// Each rank reads the row groups (or record batches) that contain its rows, one at a time on each thread,
/// and in them only requested columns. Memory: per thread, one row group of the requested columns.
///
/// Throws the same `Error(input)` on every rank: without a plugin, or for a file that the plugin cannot open.
[[nodiscard]] std::unique_ptr<TableReader> open_arrow_file(const Workers& workers, const std::string& path,
                                                           const BetweenReads& between);

/// The formats Parquet and Feather.
struct ArrowFormat {
  static bool recognises(const files::InputFile& file) {
    std::array<char, 16> beginning{};
    return !arrow_format({beginning.data(), file.read_at(0, beginning)}).empty();
  }
  static std::unique_ptr<TableReader> open(const Workers& workers, const std::string& path,
                                           const OpenOptions& options) {
    refuse_text_options(path, "Parquet or Feather", options.table);
    return open_arrow_file(workers, path, options.between);
  }
};

}  // namespace TESSERA_NAMESPACE::gam

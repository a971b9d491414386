// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/table/hdf5/column_encoding.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "files/output_file.hpp"

/// Tables in HDF5 as hdf5_table.hpp reads them: the library describes the columns, and their values are bytes
/// that are written to where it says, by anyone and in any order.
namespace tessera::gam {

struct NewColumn {
  std::string name;
  ColumnEncoding encoding;
};

/// False in a build without HDF5.
[[nodiscard]] bool has_hdf5() noexcept;

/// Makes a file without columns, which keeps the order of those that are added. It and the next throw
/// `Error(input)` if the file cannot be written, or in a build without HDF5.
void begin_hdf5(files::OutputFile& file);

/// Adds a dataset of `rows` values for each column. Returns the bytes of the file at which the values of each
/// are to be written, one behind the other.
[[nodiscard]] std::vector<std::int64_t> add_hdf5_columns(files::OutputFile& file,
                                                         std::span<const NewColumn> columns,
                                                         std::int64_t rows);

/// Why a column of this name cannot be in the file, to go on after the name; empty: it can.
[[nodiscard]] std::string problem_of_hdf5_name(const std::string& name);

}  // namespace tessera::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/table/hdf5/column_encoding.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "files/output_file.hpp"

/// Writes tables in HDF5 as hdf5_table.hpp reads them: the library writes the descriptions of the columns,
/// and any rank writes the bytes of their values, in any order, at offsets that it returns.
namespace TESSERA_NAMESPACE::gam {

struct NewColumn {
  std::string name;
  ColumnEncoding encoding;
};

/// False in a build without HDF5.
[[nodiscard]] bool has_hdf5() noexcept;

/// Creates a file without columns, which stores the order in which columns are added. Throws `Error(input)`,
/// as the next does, if the file cannot be written, or in a build without HDF5.
void begin_hdf5(files::OutputFile& file);

/// Adds a dataset of `rows` values for each column. Returns the offset in the file at which the values of
/// each are to be written, contiguously.
[[nodiscard]] std::vector<std::int64_t> add_hdf5_columns(files::OutputFile& file,
                                                         std::span<const NewColumn> columns,
                                                         std::int64_t rows);

/// Why the file cannot have a column of this name, to follow the name; empty: it can.
[[nodiscard]] std::string problem_of_hdf5_name(const std::string& name);

}  // namespace TESSERA_NAMESPACE::gam

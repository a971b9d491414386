// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/hdf5/written_encoding.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "files/output_file.hpp"

/// Writes tables for hdf5_table.hpp: the HDF5 library writes the metadata; ranks write the values at the
/// returned file offsets, in any order.
namespace TESSERA_NAMESPACE::gam {

struct NewColumn {
  std::string name;
  ColumnEncoding encoding;
  std::int64_t width = 0;  ///< values in each row of a matrix; 0: a column
};

struct NewText {
  enum class As : std::uint8_t { attribute, dataset };  ///< an attribute has at most some kilobytes
  std::string name;
  std::string text;
  As as = As::attribute;
};

/// False in a build without HDF5.
[[nodiscard]] bool has_hdf5() noexcept;

/// Creates a file without columns, which will store the order in which columns are added. Throws
/// `Error(input)`, like `add_hdf5_columns`, if the file cannot be written, or in a build without HDF5.
void begin_hdf5(files::OutputFile& file);

/// Adds a dataset of `rows` values for each column. Returns the file offsets of their contiguous values.
[[nodiscard]] std::vector<std::int64_t> add_hdf5_columns(files::OutputFile& file,
                                                         std::span<const NewColumn> columns,
                                                         std::int64_t rows);

/// Adds attributes of the root, and scalar datasets. Skips empty texts.
void add_hdf5_texts(files::OutputFile& file, std::span<const NewText> texts);

/// Words that follow an invalid name in a message; empty: the name is valid.
[[nodiscard]] std::string problem_of_hdf5_name(const std::string& name);

}  // namespace TESSERA_NAMESPACE::gam
